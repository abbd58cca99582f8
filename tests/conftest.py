"""Settings for all tests."""

import os

if "PYTEST_XDIST_WORKER" in os.environ:
    # There is a worker for every core: more threads than one each, also of programs that tests start, would only wait.
    os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}

from hypothesis import settings
from threadpoolctl import threadpool_limits

if "PYTEST_XDIST_WORKER" in os.environ:
    import numpy  # noqa: F401 -- its libraries have to be loaded to be limited
    import scipy.linalg  # noqa: F401

    threadpool_limits(1)

# Problems are built from a seed, so time per example varies with the machine and not with the input.
settings.register_profile("rarefy", deadline=None, derandomize=True)
settings.load_profile("rarefy")
