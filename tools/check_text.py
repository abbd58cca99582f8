"""Check text files: no trailing whitespace, one newline at the end, no conflict markers, no large files."""

import re
import sys
from pathlib import Path

LARGEST = 500_000  # bytes; data sets are not part of the repository
_CONFLICT = re.compile(r"^(<{7} |>{7} )", re.MULTILINE)
_TRAILING = re.compile(r"[ \t\r]+$", re.MULTILINE)


def faults(path):
    """What is wrong with a file, as a list of sentences."""
    content = path.read_bytes()
    found = [f"{len(content)} bytes, more than {LARGEST}"] if len(content) > LARGEST else []
    if b"\0" in content:
        return found  # not text
    text = content.decode()
    found += [f"line {text.count(chr(10), 0, m.start()) + 1}: trailing whitespace" for m in _TRAILING.finditer(text)]
    found += [f"line {text.count(chr(10), 0, m.start()) + 1}: conflict marker" for m in _CONFLICT.finditer(text)]
    if text and (not text.endswith("\n") or text.endswith("\n\n")):
        found.append("the last line does not end with exactly one newline")
    return found


def main(names):
    """Report the faults of all files; a message for the shell if there are any."""
    report = [f"{name}: {fault}" for name in names for fault in faults(Path(name))]
    return "\n".join(report) or 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
