"""Data of shapes that ask for too much: each call finishes in time, or refuses at once and says what it would need.

Each call has a process of its own with a limit on its address space and a time ceiling. Counted as wrong are calls that
do not end in time, that are killed, that fail with a bare MemoryError of numpy, and errors that name neither how much
memory is needed nor what to do instead.
"""

import argparse
import re
import resource
import signal
import subprocess
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import rarefy
from rarefy.kernel import (
    KernelFeatureRegressor,
    KernelFeatureSelector,
    KernelFeatureSelectorCV,
    KernelSubspace,
    SubspaceLPSVC,
    SubspaceLPSVCCV,
)
from rarefy.ranking import OrdinalRankRC, RankRC, RankRCCV
from rarefy.selection import (
    BestSubsetSelector,
    BSSSelector,
    InformationGainSelector,
    LeverageScoreSelector,
    LPSVMSelector,
    RandomSelector,
    ReliefSelector,
    RRQRSelector,
    SupportVectorSelector,
)

MEMORY = 4 << 30
"""Bytes of address space of a call."""
SECONDS = 120.0
"""Of processor time in which a call has to finish."""
REFUSED = 3
"""Exit code of a call that refused in the right words."""
_RIGHT_WORDS = re.compile(r"\d(\.\d+)? ?[kMGTPE]?B\b")

SELECTORS = (
    BSSSelector(2),
    LeverageScoreSelector(2, random_state=0),
    RRQRSelector(2),
    RandomSelector(2, random_state=0),
    InformationGainSelector(2),
    ReliefSelector(2),
    LPSVMSelector(),
    SupportVectorSelector(BSSSelector(2)),
    BestSubsetSelector(2),
)
KERNELS = (
    KernelSubspace(20, random_state=0),
    SubspaceLPSVC(n_components=20, random_state=0),
    SubspaceLPSVCCV(SubspaceLPSVC(n_components=20, random_state=0), alphas=[0.3], gammas=[0.5], cv=2),
    KernelFeatureSelector(random_state=0),
    KernelFeatureSelectorCV(Cs=[1.0], mus=[0.1], cv=2),
    KernelFeatureRegressor(),
    RankRC(),
    RankRCCV(alphas=[0.01], cv=2),
    OrdinalRankRC(),
)
SQUARE = (
    RankRC(basis="all"),
    KernelSubspace(),
    SubspaceLPSVC(),
    KernelFeatureSelector(n_landmarks=None),
    KernelFeatureSelector(n_landmarks=None, kernel="laplacian"),
    KernelFeatureRegressor(),
    KernelFeatureRegressor(kernel="laplacian"),
)


def tall(n: int = 1_000_000) -> tuple[Any, Any]:
    """Many samples with three features, one class rare."""
    rng = np.random.default_rng(0)
    y = (rng.random(n) < 0.01).astype(int)
    return rng.standard_normal((n, 3)) + y[:, None], y


def balanced(n: int = 300_000) -> tuple[Any, Any]:
    """Many samples of two classes of the same size."""
    X, _ = tall(n)
    return X, (X[:, 0] > 0.0).astype(int)


def square(n: int = 60_000) -> tuple[Any, Any]:
    """So many samples that a matrix of all pairs does not fit."""
    return balanced(n)


def dense_row(n: int = 100, d: int = 1_000_000) -> tuple[Any, Any]:
    """A sparse matrix with a million columns, of which one row has them all."""
    rng = np.random.default_rng(0)
    few = 20
    rows, columns = np.repeat(np.arange(n), few), rng.integers(0, d, n * few)
    rows, columns = np.append(rows, np.zeros(d, int)), np.append(columns, np.arange(d))
    X = sp.csr_array((np.ones(len(rows)), (rows, columns)), shape=(n, d))
    return X, np.arange(n) % 2


def wide(n: int = 30_000, d: int = 200_000) -> tuple[Any, Any]:
    """Many samples, and more sparse features than samples."""
    rng = np.random.default_rng(0)
    rows, columns = np.repeat(np.arange(n), 5), rng.integers(0, d, n * 5)
    return sp.csr_array((np.ones(len(rows)), (rows, columns)), shape=(n, d)), np.arange(n) % 2


_SHAPES: dict[str, tuple[Callable[[], Any], tuple[Any, ...]]] = {
    "10^6 x 3": (tall, (*SELECTORS, *KERNELS)),
    "balanced": (balanced, (RankRC(), RankRCCV(alphas=[0.01], cv=2), OrdinalRankRC())),
    "all pairs": (square, SQUARE),
    "dense row": (dense_row, (*SELECTORS, *KERNELS)),
    "wide": (wide, SELECTORS),
}
FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "certify": lambda X, y: rarefy.certify(X, [0, 1]).verify(X),
    "certify with labels": lambda X, y: rarefy.certify(X, [0, 1], y=y, C=1.0),
    "hard_margin2": rarefy.hard_margin2,
    "minimum_enclosing_ball": lambda X, y: rarefy.minimum_enclosing_ball(X),
    "ridge_curve": lambda X, y: rarefy.ridge_curve(X, [0, 1]),
}


def cases() -> Iterator[tuple[str, str]]:
    """Names of shape and call."""
    for shape, (_, estimators) in _SHAPES.items():
        for i, estimator in enumerate(estimators):
            yield shape, f"{i} {estimator!r}".replace("\n", " ")
    for shape in ("10^6 x 3", "dense row"):
        for name in FUNCTIONS:
            yield shape, name


def bomb_trial(shape: str, name: str, memory: int = MEMORY, limit: float = SECONDS) -> tuple[Counter[str], list[str]]:
    """One call in a process of its own, counted."""
    start = time.perf_counter()
    call = [sys.executable, __file__, shape, name, str(memory), str(int(limit))]
    what = f"{shape}, {name}"
    try:
        done = subprocess.run(call, capture_output=True, text=True, timeout=10.0 * limit, check=False)
    except subprocess.TimeoutExpired:
        done = None
    seconds = time.perf_counter() - start
    if done is None or done.returncode == -signal.SIGXCPU:
        return Counter({"bombs": 1, "endless": 1, "violated": 1}), [f"{what}: not done in {limit:.0f} s"]
    if done.returncode == 0:
        return Counter({"bombs": 1, "finished": 1}), []
    said = (done.stderr.strip().splitlines() or [""])[-1]
    if done.returncode == REFUSED and seconds < limit / 2:
        return Counter({"bombs": 1, "refused": 1}), []
    return Counter({"bombs": 1, "violated": 1}), [f"{what}: exit code {done.returncode} after {seconds:.0f} s, {said}"]


def _child(shape: str, name: str, memory: int, limit: int) -> int:
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))
    make, estimators = _SHAPES[shape]
    X, y = make()
    warnings.simplefilter("ignore")
    try:
        if name in FUNCTIONS:
            FUNCTIONS[name](X, y)
        else:
            estimators[int(name.split()[0])].fit(X, y)
    except (MemoryError, ValueError) as error:
        print(type(error).__name__, error, file=sys.stderr)
        right = "Unable to allocate" not in str(error) and _RIGHT_WORDS.search(str(error))
        return REFUSED if right else 4
    return 0


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    parser = argparse.ArgumentParser()
    parser.add_argument("shape")
    parser.add_argument("name")
    parser.add_argument("memory", type=int)
    parser.add_argument("limit", type=int)
    options = parser.parse_args()
    sys.exit(_child(options.shape, options.name, options.memory, options.limit))
