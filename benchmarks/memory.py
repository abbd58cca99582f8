"""The largest resident size of this process."""

import resource
from pathlib import Path


def peak_gigabytes():
    """Largest resident size so far, in GB.

    On Linux `getrusage` would count the process that started this one, up to when it was replaced.
    """
    status = Path("/proc/self/status")
    if status.is_file():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) * 1024 / 1e9
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
