"""Support vector machines with a norm as penalty, against other solvers, on random programs of many kinds.

What is proved and what is reached is compared with the value of other weights, those of HiGHS or for the 2-norm of
libsvm: their value is computed here, so that no tolerance of theirs matters. No proved bound may lie above it.
"""

import warnings
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from unittest.mock import patch

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from rarefy.core.linalg.rows import DenseRows, SparseRows
from rarefy.core.solvers import box_lp
from rarefy.core.svm import norm_svm as svms

STRUCTURES = ("normal", "separable", "repeated", "one-hot", "heavy tails", "scales")
STARTS = ("none", "none", "none", "another alpha", "another labelling", "nonsense")
WEIGHTS = ("one", "one", "some zero", "six decades")
TOLERANCES = (1e-8, 1e-8, 1e-8, 1e-6, 1e-4)


@dataclass(frozen=True)
class Problem:
    """An SVM to train: coordinates D, labels from 0, the penalty, weights p, and where the solver starts."""

    D: np.ndarray
    labels: np.ndarray
    n_classes: int
    alpha: float
    p: np.ndarray
    norm: object
    tol: float
    structure: str
    start: str
    weights: str
    sparse: bool

    @property
    def direct(self):
        return self.n_classes > 2

    @property
    def rows(self):
        """[D, 1], and zeros for the maximum norm."""
        m = len(self.D)
        ends = [np.ones((m, 1)), np.zeros((m, 1))] if self.norm == "inf" else [np.ones((m, 1))]
        F = np.hstack([self.D, *ends]).astype(self.D.dtype)
        return SparseRows(sp.csr_array(F)) if self.sparse else DenseRows(F)

    def solve(self, alpha=None, labels=None, **options):
        """By the method under test."""
        labels, alpha = self.labels if labels is None else labels, self.alpha if alpha is None else alpha
        options = {"norm": self.norm, "tol": self.tol} | options
        if self.direct:
            return svms.direct_svm(self.rows, labels, self.n_classes, alpha, self.p, **options)
        return svms.norm_svm(self.rows, 2.0 * labels - 1.0, alpha, self.p, **options)

    def value(self, W, b):
        """The objective of weights (classes, S) and intercepts, or of one row of each, and how far rounding reaches."""
        D, p = self.D.astype(np.float64), self.p
        scores, sizes = D @ W.T + b, np.abs(D) @ np.abs(W).T + np.abs(b)
        own = np.arange(len(D)), self.labels
        if self.direct:
            losses = np.maximum(0.0, 1.0 - scores[own][:, None] + scores)
            losses[own] = 0.0
        else:
            losses = np.maximum(0.0, 1.0 - (2.0 * self.labels - 1.0)[:, None] * scores)
        norms = [float(np.linalg.norm(w, {1: 1, 2: 2, "inf": np.inf}[self.norm])) for w in W]
        value = self.alpha * sum(norms) + float(p @ losses.sum(axis=1))
        return value, 1e-12 * (1.0 + value + float(p @ sizes.sum(axis=1)))

    def __str__(self):
        sizes = f"{len(self.D)} x {self.D.shape[1]}, {self.n_classes} classes, {self.structure}, {self.D.dtype}"
        stored = "sparse" if self.sparse else "dense"
        return (
            f"{sizes}, {stored}, norm {self.norm}, alpha {self.alpha:.6g}, tol {self.tol:g}, "
            f"weights {self.weights}, start {self.start}"
        )


def random_problem(seed, largest=3000):
    """The problem with this number."""
    rng = np.random.default_rng([seed, 7])
    n_classes = 2 if rng.random() < 0.75 else int(rng.integers(3, 6))
    most = largest if n_classes == 2 else min(largest, 1000)
    m = int(np.exp(rng.uniform(np.log(20), np.log(most))))
    # Only with so many rows for each equation is it worth working on few.
    few = max(1, m // 40) if rng.random() < 0.8 else 30
    S = min(int(np.exp(rng.uniform(0.0, np.log(31)))), few)
    labels = rng.integers(0, n_classes, m) if rng.random() < 0.8 else (rng.random(m) < 0.05).astype(int)
    labels[:n_classes] = np.arange(n_classes)
    structure, start, weights = (str(rng.choice(names)) for names in (STRUCTURES, STARTS, WEIGHTS))
    D, labels = _coordinates(rng, structure, labels, S)
    norm = [1, "inf"][rng.integers(2)] if n_classes > 2 else [1, 1, 2, "inf"][rng.integers(4)]
    alpha, p = float(10.0 ** rng.uniform(-12.0, 3.0)), np.ones(m)
    if weights != "one":
        p = np.where(rng.random(m) < 0.3, 0.0, p) if weights == "some zero" else 10.0 ** rng.uniform(-5.0, 1.0, m)
    dtype = np.float32 if rng.random() < 0.25 else np.float64
    sparse = structure == "one-hot" or rng.random() < 0.1
    tol = float(rng.choice(TOLERANCES))
    return Problem(D.astype(dtype), labels, n_classes, alpha, p, norm, tol, structure, start, weights, sparse)


def _coordinates(rng, structure, labels, S):
    """Coordinates whose classes differ by little or much, and the labels."""
    m = len(labels)
    D = rng.standard_normal((m, S)) + rng.uniform(0.0, 1.5) * rng.standard_normal((labels.max() + 1, S))[labels]
    if structure == "separable":
        D[:, 0] = D[:, 0] / 4.0 + 3.0 * labels
    elif structure == "repeated":
        copied = rng.integers(0, max(2, m // 5), m)
        D, labels = D[copied], labels[copied] if rng.random() < 0.5 else labels
    elif structure == "one-hot":
        D = np.eye(S)[(rng.integers(0, S, m) + labels * rng.integers(0, 2, m)) % S]
    elif structure == "heavy tails":
        D = D * np.exp(rng.uniform(0.5, 2.0) * np.abs(rng.standard_normal((m, S))))
        D[rng.integers(m)] *= 100.0
    elif structure == "scales":
        D = D * 10.0 ** rng.uniform(-3.0, 3.0, S)
    return D, labels


def starting_point(problem, seed):
    """Multipliers of a similar one, or numbers that mean nothing."""
    rng = np.random.default_rng([seed, 8])
    if problem.start == "none":
        return None
    if problem.start == "another alpha":
        return problem.solve(alpha=problem.alpha * 10.0 ** rng.uniform(-2.0, 2.0)).multipliers
    if problem.start == "another labelling":
        other = rng.random(len(problem.labels)) < rng.uniform(0.0, 0.5)
        labels = np.where(other, rng.integers(0, problem.n_classes, len(other)), problem.labels)
        return problem.solve(labels=labels).multipliers
    k = problem.rows.shape[1] * (problem.n_classes if problem.direct else 1)
    return 10.0 ** rng.uniform(-6.0, 9.0) * rng.standard_normal(k)


@contextmanager
def watched(counts, bounds):
    """Counts of the programs that are large enough to work on few variables and solved so, and every bound proved."""
    search, near, bound = box_lp.solve_near, box_lp._Search._near, svms.DualBound.bound

    def tried(whole, *args, **options):
        n, k = whole.A.shape
        counts["large enough for few variables"] |= n >= 25 * k
        return search(whole, *args, **options)

    def counted(*args):
        found = near(*args)
        counts["solved on few variables"] |= found is not None
        return found

    def noted(self, *args, **options):
        bounds.append(bound(self, *args, **options))
        return bounds[-1]

    with (
        patch.object(box_lp, "solve_near", tried),
        patch.object(box_lp._Search, "_near", counted),
        patch.object(svms.DualBound, "bound", noted),
    ):
        yield


def program_trial(seed, largest=3000):
    """(counts, what is wrong) of one problem."""
    problem, counts, bounds = random_problem(seed, largest), Counter({"programs": 1}), []
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            start = starting_point(problem, seed)
            with watched(counts, bounds):
                found = problem.solve(start=start)
        except Exception as error:  # whatever it is, it is what the trial looks for
            return counts + Counter({"crashes": 1}), [f"program {seed}, {problem}: {type(error).__name__}: {error}"]
    wrong = [f"warning: {one.message}" for one in heard]
    counts["iterations"] = found.n_iter
    counts[found.status] += 1
    wrong += _untrue(problem, found, max(bounds), counts)
    counts["violated"] = int(bool(wrong))
    if found.status != "optimal":  # no claim is made that is not true, but there ought to be a solution
        wrong.append(f"{found.status}, gap {found.gap:.3g} of {found.objective:.6g}, {found.n_iter} iterations")
    return counts, [f"program {seed}, {problem}: {one}" for one in wrong]


def _untrue(problem, found, bound, counts):
    """What is said of the solution that is not so."""
    wrong, accepted = [], problem.tol * (1.0 + found.objective)
    value, rounding = problem.value(found.w, found.b)
    if not abs(value - found.objective) <= rounding:
        wrong.append(f"the objective is {value:.15g}, not {found.objective:.15g}")
    # Sums that exceed their bound by no more than their own rounding count as feasible; weights multiply that.
    longest = float(np.linalg.norm(problem.D.astype(np.float64), axis=0).max(initial=0.0))
    unseen = 4.0 * np.finfo(float).eps * longest * float(np.linalg.norm(problem.p)) * float(np.abs(found.w).sum())
    if bound > value + rounding + unseen:
        wrong.append(f"the gap is negative: {value - bound:.3g}")
    if (found.status == "optimal") != (found.gap <= accepted):
        wrong.append(f"status {found.status} with gap {found.gap:.3g}, accepted {accepted:.3g}")
    other = reference(problem, found)
    if other is None:
        counts["without a reference"] += 1
        return wrong
    best, reach = problem.value(*other)
    if bound > best + reach:
        wrong.append(f"the bound {bound:.15g} is proved, and {best:.15g} is reached")
    if found.status == "optimal" and found.objective > best + max(1e-6, problem.tol) * (1.0 + best) + reach:
        wrong.append(f"the objective is {found.objective:.12g}, and {best:.12g} is reached")
    counts["reference as good"] += best <= found.objective + 1e-6 * (1.0 + best)
    return wrong


def reference(problem, found):
    """Weights and intercepts of another solver; None if it has none."""
    if problem.norm == 2:
        return _by_libsvm(problem, found)
    return _by_highs(problem)


def _by_highs(problem):
    """The program in the weights: their positive and negative parts, or their largest, and what margins lack."""
    D, m, S, q = problem.D.astype(np.float64), *problem.D.shape, problem.n_classes if problem.direct else 1
    used = np.flatnonzero(problem.p > 0.0)
    F = sp.csr_array(np.hstack([D, np.ones((m, 1))])[used])
    labels = problem.labels[used]
    if problem.direct:
        others = np.array([[b for b in range(q) if b != a] for a in labels])
        signs = np.eye(q)[np.repeat(labels, q - 1)] - np.eye(q)[others.ravel()]
        which = np.repeat(np.arange(len(used)), q - 1)
    else:
        signs, which = (2.0 * labels - 1.0)[:, None], np.arange(len(used))
    margins = sp.hstack([sp.diags_array(signs[:, c]) @ F[which] for c in range(q)]).tocsr()
    n, k = margins.shape
    coordinates = np.flatnonzero(np.arange(k) % (S + 1) < S)
    take = sp.csr_array((np.ones(len(coordinates)), (np.arange(len(coordinates)), coordinates)), (q * S, k))
    size = sp.eye_array(q * S) if problem.norm == 1 else sp.kron(sp.eye_array(q), np.ones((S, 1)))
    above = sp.vstack([sp.hstack([sign * take, -size, sp.csr_array((q * S, n))]) for sign in (1.0, -1.0)])
    A = sp.vstack([above, sp.hstack([-margins, sp.csr_array((n, size.shape[1])), -sp.eye_array(n)])]).tocsr()
    cost = np.concatenate([np.zeros(k), np.full(size.shape[1], problem.alpha), problem.p[used][which]])
    limits = np.append(np.zeros(2 * q * S), -np.ones(n))
    bounds = [(None, None)] * k + [(0.0, None)] * (size.shape[1] + n)
    result = linprog(cost, A_ub=A, b_ub=limits, bounds=bounds, method="highs", options={"time_limit": 20.0})
    if result.x is None:
        return None
    table = result.x[:k].reshape(q, S + 1)
    return table[:, :S], table[:, S]


def _by_libsvm(problem, found, most=400):
    """Where the norm has the size t its square costs as much: alpha (||w||^2 / t + t) / 2, from the size found."""
    y, used = problem.labels, problem.p > 0.0
    if used.sum() > most or len(np.unique(y[used])) < 2:
        return None
    t, best = float(np.linalg.norm(found.w)), None
    for _ in range(3):
        if not 1e-9 < t / problem.alpha * problem.p[used].max() < 1e6:
            break
        svm = SVC(kernel="linear", C=1.0, tol=1e-8, max_iter=100_000)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            svm.fit(problem.D[used].astype(np.float64), y[used], sample_weight=t / problem.alpha * problem.p[used])
        other = svm.coef_, svm.intercept_
        if best is None or problem.value(*other)[0] < problem.value(*best)[0]:
            best = other
        t = float(np.linalg.norm(svm.coef_))
    return best
