"""Cells of the tables about linear programs in a kernel's leading subspace."""

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from rarefy.datasets import load
from rarefy.kernel import KernelSubspace, SubspaceLPSVC
from rarefy.papers.data import remember

_PIXELS = 784
_SVC_C = 10.0
"""The paper does not say which C its standard SVM had; with these kernels larger ones change little."""
_TOL = 1e-6
"""Accepted duality gap, relative to the objective: the default of the paper's solver, CPLEX, is as large."""


def every_c(
    data: Any, *, degree: int, L: int, S: int, C: Sequence[float], sample: int, n_train: int, n_test: int
) -> list[dict[str, float]]:
    """Table 1: the error for all values of C, in one subspace."""
    X, y, X_test, y_test = _digits(data, n_train, n_test)
    path = _classifier(_kernel(degree=degree), L, S, sample).alpha_path(X, y, C)
    errors = 100.0 * np.mean(path.predict(X_test) != y_test, axis=1)
    gaps = np.max(path.attribute("duality_gap_") / (1.0 + path.attribute("objective_")), axis=1)
    return [
        {"error": float(error), "range over C": float(np.ptp(errors)), "relative_gap": float(gap)}
        for error, gap in zip(errors, gaps, strict=True)
    ]


def one_c(
    data: Any,
    *,
    L: int,
    S: int,
    C: float,
    sample: int,
    n_train: int,
    n_test: int,
    degree: int | None = None,
    gamma: float = 1.0,
) -> dict[str, float]:
    """Tables 2 and 3: the error of ten classifiers, the largest score of which decides."""
    X, y, X_test, y_test = _digits(data, n_train, n_test)
    start = time.perf_counter()
    model = _classifier(_kernel(degree=degree, gamma=gamma), L, S, sample, C).fit(X, y)
    seconds = time.perf_counter() - start
    return {
        "error": 100.0 * (1.0 - float(model.score(X_test, y_test))),
        "energy_kept": model.subspace_.energy_kept_,
        "nonzero_weights": float(np.mean(model.coef_ != 0.0)),
        "relative_gap": float(np.max(model.duality_gap_ / (1.0 + model.objective_))),
        "seconds": seconds,
    }


def times(
    data: Any, *, kernel: str, L: int, S: Sequence[int], C: float, sample: int, n_train: int, n_test: int
) -> list[dict[str, float]]:
    """Table 4: processor time for all values of S, and how many times as long a standard SVM takes on the same data."""
    X, y, X_test, y_test = _digits(data, n_train, n_test)
    options = _kernel(degree=7) if kernel == "polynomial" else _kernel(gamma=0.2)
    found = []
    with threadpool_limits(limits=1):
        svm, svm_seconds = _timed(SVC(C=_SVC_C, cache_size=1000, **options).fit, X, y)
        svm_error = 100.0 * (1.0 - float(svm.score(X_test, y_test)))
        for size in S:
            subspace = KernelSubspace(size, n_landmarks=L, standardize=False, random_state=sample, **options)
            _, decomposition = _timed(subspace.fit, X)
            model, seconds = _timed(_classifier(options, L, size, sample, C).fit, X, y)
            found.append(
                {
                    "ratio": svm_seconds / seconds,
                    "seconds": seconds,
                    "decomposition_share": decomposition / seconds,
                    "error": 100.0 * (1.0 - float(model.score(X_test, y_test))),
                    "svm_seconds": svm_seconds,
                    "svm_error": svm_error,
                    "support_vectors": len(svm.support_),
                }
            )
    return found


def each_digit(
    data: Any, *, digit: Sequence[int], degree: int, L: int, S: int, C: float, sample: int, n_train: int, n_test: int
) -> list[dict[str, float]]:
    """Table 5: errors of each of the ten classifiers, scaled to 10 000 digits, and of their joint prediction."""
    X, y, X_test, y_test = _digits(data, n_train, n_test)
    scores = _classifier(_kernel(degree=degree), L, S, sample, C).fit(X, y).decision_function(X_test)
    error = 100.0 * float(np.mean(scores.argmax(axis=1) != y_test))
    wrong = [float(np.mean((scores[:, k] > 0.0) != (y_test == k))) for k in digit]
    return [{"errors in 10 000": 10000.0 * share, "error": error} for share in wrong]


def svm_each_digit(
    data: Any, *, digit: Sequence[int], degree: int, n_train: int, n_test: int
) -> list[dict[str, float]]:
    """Last row of Table 5: errors of ten standard SVMs, one digit against the others, and of their largest score."""
    X, y, X_test, y_test = _digits(data, n_train, n_test)
    svms = [SVC(C=_SVC_C, cache_size=1000, **_kernel(degree=degree)).fit(X, y == k) for k in digit]
    scores = np.column_stack([svm.decision_function(X_test) for svm in svms])
    error = 100.0 * float(np.mean(np.asarray(digit)[scores.argmax(axis=1)] != y_test))
    wrong = [float(np.mean((scores[:, i] > 0.0) != (y_test == k))) for i, k in enumerate(digit)]
    return [{"errors in 10 000": 10000.0 * share, "error": error} for share in wrong]


def _classifier(kernel: dict[str, Any], L: int, S: int, sample: int, C: float = 1.0) -> SubspaceLPSVC:
    """The paper's C is the weight of the norm."""
    return SubspaceLPSVC(C, n_components=S, n_landmarks=L, standardize=False, tol=_TOL, random_state=sample, **kernel)


def _kernel(*, degree: int | None = None, gamma: float = 1.0) -> dict[str, Any]:
    """The kernel (x.x' / 784)^degree or exp(-|x - x'|^2 / (784 gamma)), as scikit-learn has it."""
    if degree is not None:
        return {"kernel": "poly", "gamma": 1.0 / _PIXELS, "coef0": 0.0, "degree": degree}
    return {"kernel": "rbf", "gamma": 1.0 / (_PIXELS * gamma)}


def _timed(function: Callable[..., Any], *arguments: Any) -> tuple[Any, float]:
    """What the function returns, and the processor time it took: other programs on the computer do not count."""
    start = time.process_time()
    found = function(*arguments)
    return found, time.process_time() - start


@remember
def _digits(data: Any, n_train: int, n_test: int) -> tuple[Any, ...]:
    """Pixels from -1 to 1 and labels, for training and for testing: the first rows of a fixed shuffle."""
    found = load("mnist", data)
    parts = []
    for images, labels, n in ((found.data, found.target, n_train), (found.test_data, found.test_target, n_test)):
        rows = np.random.default_rng(0).permutation(len(labels))[:n]
        parts += [images[rows].astype(np.float32) / np.float32(127.5) - np.float32(1.0), labels[rows]]
    return tuple(parts)
