"""Training kernel models, for the points that prove what is kept of their objectives."""

import numpy as np
from scipy.optimize import minimize_scalar

from rarefy.certificates._kernel_objective import KernelObjective, Products, bounds
from rarefy.certificates._objective import stated
from rarefy.core.certificates.measurement import EPS
from rarefy.core.certificates.regularised import subspace_share
from rarefy.core.linalg.rows import Array, DenseRows
from rarefy.core.linalg.threads import threads_for
from rarefy.core.losses.margins import LossName, MarginLoss, best_intercept
from rarefy.core.svm.linear_model import linear_model


def make_kernel_objective(K: Array, K_kept: Array, Y: Array, loss: LossName, C: float) -> KernelObjective:
    """Train with both kernel matrices, and state what the models prove."""
    whole, kept = (products_of(A, Y, loss, C) for A in (K, K_kept))
    return objective_from(whole, kept, Y, loss, C)


def products_of(K: Array, Y: Array, loss: LossName, C: float) -> Products:
    """Coefficients of nearly optimal models with a kernel matrix."""
    return Products.of(K, trained(_rows(K), Y, loss, C))


def objective_from(whole: Products, kept: Products, Y: Array, loss: LossName, C: float) -> KernelObjective:
    """State what given coefficients prove, with the best intercepts."""
    b, b_kept = (_intercepts(found, Y, loss, C) for found in (whole, kept))
    lower, upper_whole = bounds(whole, Y, C, loss, b)
    lower_kept, upper = bounds(kept, Y, C, loss, b_kept)
    first, second = stated(lower, upper), stated(lower_kept, upper_whole)
    return KernelObjective(loss, C, *first, *second, whole.beta, kept.beta, b, b_kept)


def best_scales(found: Products, Y: Array, C: float, loss: LossName) -> Array:
    """For every model the t >= 0 with the largest dual value of t beta."""
    rule, scales = MarginLoss(loss), np.zeros(Y.shape[1])
    for j, (y, beta, product) in enumerate(zip(Y.T, found.beta.T, found.product.T, strict=True)):
        largest = float(np.abs(beta).max(initial=0.0))
        if largest == 0.0:
            continue
        form, end = float(beta @ product), (C / largest * (1.0 - 2.0 * EPS) if rule.bounded else np.inf)
        if loss == "logistic":
            scales[j] = _largest_entropy(rule, y, beta, np.full(len(y), C), form, end)
        else:
            curvature = 0.0 if loss == "hinge" else float(beta @ beta) / (2.0 * C)
            scales[j] = subspace_share(form, float(y @ beta), 1.0, curvature=curvature, largest_step=end)[1]
    return scales


def _largest_entropy(rule: MarginLoss, y: Array, beta: Array, c: Array, form: float, end: float) -> float:
    def loss_of(t: float) -> float:
        return 0.5 * t * t * form - float(rule.gains(y, t * beta, c).sum())

    return float(minimize_scalar(loss_of, bounds=(0.0, end), method="bounded").x)


def trained(F: Array, Y: Array, loss: LossName, C: float) -> Array:
    """Dual variables of nearly optimal models with the kernel F F^T."""
    rule, costs, rows = MarginLoss(loss), np.full(len(Y), C), DenseRows(F)
    return np.column_stack([linear_model(rows, y, costs, rule).beta for y in Y.T])


def _rows(K: Array) -> Array:
    """F with F F^T = K up to rounding, with as many columns as K has dimensions."""
    with threads_for(len(K)):
        eigenvalues, U = np.linalg.eigh(K)
    counts = eigenvalues > len(K) * EPS * float(eigenvalues[-1])
    if not counts.any():
        return np.zeros((len(K), 1))
    return np.asarray(U[:, counts] * np.sqrt(eigenvalues[counts]))


def _intercepts(found: Products, Y: Array, loss: LossName, C: float) -> Array:
    rule, costs = MarginLoss(loss), np.full(len(Y), C)
    return np.array([best_intercept(rule, y, f, costs) for y, f in zip(Y.T, found.product.T, strict=True)])
