"""Theorems 11 and 12 as counts of exceptions among drawn functions.

f(x1, x2) : a function with two groups of variables, stationary at (x1, x2), with Hessian H of blocks H11, H12, H22
fbar(x1bar, x2, kappa) = f(x1bar / kappa, x2) : the same with a scale that both groups share
S = H11 - H12 H22^-1 H12' : the Schur complement
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarefy.papers.claims import Metrics

Array = NDArray[np.float64]

_ZERO = 1e-6
"""Eigenvalues closer to zero than this share of the largest have an undecided sign and are not counted."""


def theorems(data: Any, *, statement: str, seed: int, n_functions: int) -> Metrics:
    """How many drawn functions fulfil the assumption of a statement, and the share of these that are exceptions."""
    rng = np.random.default_rng(seed)
    counted = [_STATEMENTS[statement](rng) for _ in range(n_functions)]
    exceptions = [not holds for holds in counted if holds is not None]
    share = float(np.mean(exceptions)) if exceptions else np.nan
    return {"assumption holds": float(len(exceptions)), "exceptions": share}


def saddle_example(data: Any, *, group: str) -> Metrics:
    """The thesis's function of three variables at (1, 1, 1): the smallest eigenvalue of its Hessian in some of them."""

    def f(x: Array) -> float:
        s, t = x[0] + x[1] - 2.0, x[2] - 1.0
        return float(s**2 - 3.0 * s * t + t**2)

    scaled: dict[str, tuple[Callable[[Array], float], int]] = {
        "x1, x2": (lambda x: f(np.array([x[0], x[1], 1.0])), 2),
        "x3": (lambda x: f(np.array([1.0, 1.0, x[0]])), 1),
        "x1, x2, x3": (f, 3),
        "x3, y": (lambda x: f(np.array([1.0 / x[1], 1.0 / x[1], x[0]])), 2),
    }
    function, n = scaled[group]
    smallest = float(np.linalg.eigvalsh(_hessian(function, np.ones(n)))[0])
    return {"curvature": smallest, "indefinite": float(smallest < -1e-3)}


def _blocks(rng: np.random.Generator) -> tuple[Array, int]:
    """A Hessian whose second block is positive definite, and the size of the first; about half are indefinite."""
    n1, n2 = (int(n) for n in rng.integers(1, 5, size=2))
    M = rng.standard_normal((n1 + n2, n1 + n2))
    H = M @ M.T + rng.uniform(-2.0, 0.5) * np.eye(n1 + n2)
    H[n1:, n1:] = M[n1:, n1:] @ M[n1:, n1:].T + 0.2 * np.eye(n2)
    return H, n1


def _schur(H: Array, n1: int) -> Array:
    return H[:n1, :n1] - H[:n1, n1:] @ np.linalg.solve(H[n1:, n1:], H[n1:, :n1])


def _smallest(H: Array) -> float:
    """The smallest eigenvalue; nan if its sign is rounding."""
    values = np.linalg.eigvalsh(H)
    return float(values[0]) if abs(values[0]) > _ZERO * float(np.abs(values).max()) else np.nan


def _same_signs(rng: np.random.Generator) -> bool | None:
    """Theorem 11 (a): a second-order condition holds for f if and only if the Schur complement has the same sign."""
    H, n1 = _blocks(rng)
    whole, schur = _smallest(H), _smallest(_schur(H, n1))
    return None if np.isnan(whole + schur) else (whole > 0.0) == (schur > 0.0)


def _detected(rng: np.random.Generator) -> bool | None:
    """Theorem 11 (b): at a saddle point with x1' S x1 < 0 the Hessian of fbar in (x2, kappa) has a negative eigenvalue.

    That Hessian is by finite differences of fbar, whose f has cubic terms.
    """
    H, n1 = _blocks(rng)
    S = _schur(H, n1)
    x1 = np.linalg.eigh(S)[1][:, 0] + 0.3 * rng.standard_normal(n1)
    if not x1 @ S @ x1 < -0.05 * float(x1 @ x1):
        return None
    x2, kappa = rng.standard_normal(len(H) - n1), rng.uniform(0.5, 2.0) * rng.choice([-1.0, 1.0])
    centre, cubic = np.concatenate([x1, x2]), 0.3 * rng.standard_normal(len(H))

    def fbar(x: Array) -> float:
        step = np.concatenate([kappa * x1 / x[-1], x[:-1]]) - centre
        return float(0.5 * step @ H @ step + cubic @ step**3)

    return bool(np.linalg.eigvalsh(_hessian(fbar, np.append(x2, kappa)))[0] < 0.0)


def _weakly_coupled(rng: np.random.Generator) -> bool | None:
    """Theorem 12: H11 positive definite and v_min(H22) > v_max(H12 H12') / v_min(H11) make S positive definite."""
    n1, n2 = (int(n) for n in rng.integers(1, 5, size=2))
    A, D = rng.standard_normal((n1, n1)), rng.standard_normal((n2, n2))
    H11, H22 = A @ A.T + 0.1 * np.eye(n1), D @ D.T + rng.uniform(0.0, 3.0) * np.eye(n2)
    H12 = rng.uniform(0.0, 1.0) * rng.standard_normal((n1, n2))
    bound = float(np.linalg.eigvalsh(H12 @ H12.T)[-1] / np.linalg.eigvalsh(H11)[0])
    if not np.linalg.eigvalsh(H22)[0] > bound:
        return None
    return bool(np.linalg.eigvalsh(_schur(np.block([[H11, H12], [H12.T, H22]]), n1))[0] > 0.0)


_STATEMENTS = {"11 (a)": _same_signs, "11 (b)": _detected, "12": _weakly_coupled}


def _hessian(f: Callable[[Array], float], x: Array, h: float = 1e-3) -> Array:
    """By central differences."""
    steps = h * np.eye(len(x))
    H = [[f(x + a + b) - f(x + a - b) - f(x - a + b) + f(x - a - b) for b in steps] for a in steps]
    return np.array(H) / (4.0 * h * h)
