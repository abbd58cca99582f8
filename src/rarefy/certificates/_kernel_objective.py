r"""What is kept of a kernel model's objective when one kernel matrix takes the place of another, proved by points.

K, K~ : (n, n) kernel matrices of the same samples; Y : (n, m) targets, one column a model; C : cost
beta, b : coefficients (n, m) and intercepts (m,) of models f = K beta + b; the same with ~ for K~

    Z = sum over models of min 1/2 gamma^T K gamma + C sum_i l(y_i, (K gamma)_i + b)
    D(beta) = sum of gains(beta) - 1/2 beta^T K beta  <=  Z  <=  P(beta, b)

for every allowed beta with sum zero (`rarefy.core.losses.margins` has gains and conditions), and the same with ~. One
vector serves as both points, because the optimal coefficients are the optimal dual variables. Hence

    D(beta) / P~(beta~, b~)  <=  Z / Z~  <=  P(beta, b) / D~(beta~).

K~ <= K makes the ratio at most 1, but two kernels need not be ordered, so both ends are stated.

*Rounding.* |K_ij| <= l_i l_j with l_i^2 = K_ii, so a product with K is known to gamma_n l_i sum_j |beta_j| l_j. A sum
of beta that is not zero by delta is mended by moving one entry, at the cost of about delta times the slope there. K may
be off from a positive semi-definite matrix by (4n + 8) eps tr K, which moves the form by that times |beta|^2. All of it
is taken off D and added to P.
"""

from dataclasses import dataclass

import numpy as np

from rarefy.certificates._objective import stated
from rarefy.core.certificates.witness import UNIT, gains_below
from rarefy.core.linalg.rows import Array
from rarefy.core.losses.margins import LossName, MarginLoss


@dataclass(frozen=True, eq=False)
class KernelObjective:
    """Bounds on the objectives of kernel models with two kernel matrices, and the points that prove them.

    Attributes
    ----------
    loss : {"hinge", "squared_hinge", "logistic", "squared"}
        The loss.
    C : float
        What multiplies the losses; 1 / (2 alpha) in ridge's terms.
    lower, upper : float
        With the whole kernel no model is below `lower`; with the kept one there is a model no higher than `upper`.
    lower_kept, upper_whole : float
        The same with the two kernels exchanged.
    dual, dual_kept : ndarray of shape (n_samples, n_models)
        Coefficients with either kernel, which are dual variables too.
    intercept, intercept_kept : ndarray of shape (n_models,)
        The intercepts.
    """

    loss: LossName
    C: float
    lower: float
    upper: float
    lower_kept: float
    upper_whole: float
    dual: Array
    dual_kept: Array
    intercept: Array
    intercept_kept: Array

    @property
    def interval(self) -> tuple[float, float]:
        """Bounds on Z / Z~; 0 and infinity where nothing is proved."""
        low = self.lower / self.upper if self.lower > 0.0 and 0.0 < self.upper < np.inf else 0.0
        high = self.upper_whole / self.lower_kept if self.lower_kept > 0.0 else np.inf
        return low, high

    @property
    def ratio(self) -> float | None:
        """Share of the objective that is kept at least; None where nothing is proved."""
        low = self.interval[0]
        return min(1.0, low) if low > 0.0 else None

    def faults(self, K: Array, K_kept: Array, Y: Array) -> list[str]:
        """What of this does not follow from the matrices and the targets."""
        for name in ("dual", "dual_kept", "intercept", "intercept_kept"):
            shape = getattr(self, name).shape
            right = Y.shape if name.startswith("dual") else Y.shape[1:]
            if shape != right:
                return [f"{name} of the objective has shape {shape}, not {right}"]
        lower, upper_whole = bounds(Products.of(K, self.dual), Y, self.C, self.loss, self.intercept)
        lower_kept, upper = bounds(Products.of(K_kept, self.dual_kept), Y, self.C, self.loss, self.intercept_kept)
        honest = dict(
            zip(("lower", "upper"), stated(lower, upper), strict=True),
            lower_kept=stated(lower_kept, 0.0)[0],
            upper_whole=stated(0.0, upper_whole)[1],
        )
        # Bounds are stated 1e-9 on the safe side; what differs by more is not what these points prove.
        return [
            f"{name} of the objective is {value:.9g}, not {getattr(self, name):.9g}"
            for name, value in honest.items()
            if not (getattr(self, name) == value or abs(getattr(self, name) - value) <= 1e-9 * abs(value))
        ]


@dataclass(frozen=True, eq=False)
class Products:
    """Some coefficients, and what bounds need of a kernel matrix: nothing else of it is looked at."""

    beta: Array
    """(n, m)."""
    product: Array
    """K beta."""
    diagonal: Array
    """K_ii."""

    @classmethod
    def of(cls, K: Array, beta: Array) -> "Products":
        """Of a matrix that is there."""
        with np.errstate(invalid="ignore", over="ignore"):  # points from a file may have any numbers
            return cls(beta, K @ beta, K.diagonal())

    def scaled(self, t: Array) -> "Products":
        """Each model's coefficients times a number."""
        return Products(self.beta * t, self.product * t, self.diagonal)


def bounds(found: Products, Y: Array, C: float, loss: LossName, intercept: Array) -> tuple[float, float]:
    """A number below the optimum of models with this kernel, and one above it; infinite where none is proved."""
    if not (np.all(np.isfinite(found.product)) and np.all(np.isfinite(intercept))):
        return -np.inf, np.inf
    rule, lengths = MarginLoss(loss), np.sqrt(np.maximum(found.diagonal, 0.0))
    lower = upper = 0.0
    for y, beta, product, b in zip(Y.T, found.beta.T, found.product.T, intercept, strict=True):
        gamma = (len(y) + 8) * UNIT
        blur = gamma * float(np.abs(beta) @ lengths) * lengths
        form, error = float(beta @ product), float(np.abs(beta) @ blur)
        lower += _dual_value(rule, y, np.full(len(y), C), beta, product, lengths, form, error)
        scores = product + b
        off = blur + gamma * (abs(float(b)) + np.abs(scores))
        # Losses grow with the error of the score times at most their slope.
        slope = 1.0 if rule.bounded else 2.0 * (np.abs(y) + np.abs(scores) + off)
        losses = float(np.sum(rule.values(y, scores) + off * slope))
        upper += (0.5 * (max(form, 0.0) + error) + C * losses) * (1.0 + 4.0 * gamma)
    return lower, upper


def _dual_value(
    rule: MarginLoss, y: Array, c: Array, beta: Array, product: Array, lengths: Array, form: float, error: float
) -> float:
    gamma = (len(y) + 8) * UNIT
    gains = gains_below(rule, y, c, beta, float(np.abs(product).max()), float(lengths.max()))
    indefinite = (8 * len(y) + 16) * UNIT * float(lengths @ lengths) * float(beta @ beta)
    return gains - 0.5 * form * (1.0 + 4.0 * gamma) - error - indefinite
