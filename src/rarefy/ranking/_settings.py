"""Parameters of rankers: what is accepted, and the form in which fitting needs them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils._param_validation import HasMethods, StrOptions

from rarefy._parameters import COUNT, POSITIVE, SHARE
from rarefy.certificates._recall import Quantity
from rarefy.core.linalg.rows import Array
from rarefy.core.losses.hinge import SmoothedHinge
from rarefy.core.losses.lists import Measure
from rarefy.core.losses.logistic import Logistic
from rarefy.core.losses.pairs import LossOfPairs, Profile
from rarefy.core.ranking.thresholds import RULES as THRESHOLDS
from rarefy.kernel._base import KERNEL_CONSTRAINTS, STANDARDIZE
from rarefy.kernel._landmarks import RULES as LANDMARKS
from rarefy.ranking._emphasis import Emphasis

_PROMISES: tuple[Quantity, ...] = ("recall", "false_positive_rate")
LOSSES: Mapping[str, LossOfPairs] = {"smoothed_hinge": SmoothedHinge(), "logistic": Logistic()}


class LossObject(HasMethods):
    """A loss that is given as an object."""

    def __init__(self) -> None:
        super().__init__(["pair_sums"])

    def is_satisfied_by(self, val: Any) -> bool:
        """Whether it has the method, and its length of rounding is positive."""
        if isinstance(val, type) or not super().is_satisfied_by(val):
            return False
        return not isinstance(val, SmoothedHinge) or POSITIVE.is_satisfied_by(val.eps)

    def __str__(self) -> str:
        return "a loss object, for example SmoothedHinge(eps=0.25) with eps > 0"


class ThresholdRule(StrOptions):
    """A rule of `core.ranking.thresholds.RULES`, by name or, if it takes a value, as {name: value}; or a promise."""

    def __init__(self) -> None:
        super().__init__({name for name, rule in THRESHOLDS.items() if rule.takes == "nothing"})

    def is_satisfied_by(self, val: Any) -> bool:
        """Whether the rule is known and its value in range."""
        if promise_of(val) is not None:
            return True
        if not isinstance(val, str) and not (isinstance(val, dict) and len(val) == 1):
            return False
        name, value = threshold_rule(val)
        rule = THRESHOLDS.get(name)
        if rule is None or isinstance(val, str) != (rule.takes == "nothing"):
            return False
        return isinstance(val, str) or (POSITIVE.is_satisfied_by(value) and rule.accepts(value))

    def __str__(self) -> str:
        words = [
            repr(name) if rule.takes == "nothing" else f"{{{name!r}: {rule.takes}}}"
            for name, rule in THRESHOLDS.items()
        ]
        return f"{', '.join(words)} or a promise like {{'recall': 0.9, 'confidence': 0.95}}"


@dataclass(frozen=True)
class Promise:
    """What is to hold on new data: of which share, with which confidence."""

    quantity: Quantity
    level: float
    confidence: float


def promise_of(threshold: Any) -> Promise | None:
    """The promise that a threshold asks for; None if it asks for none, or for one that nobody could make."""
    if not isinstance(threshold, dict) or len(threshold) != 2 or "confidence" not in threshold:
        return None
    for name in _PROMISES:
        level, confidence = threshold.get(name), threshold["confidence"]
        if SHARE.is_satisfied_by(level) and SHARE.is_satisfied_by(confidence):
            return Promise(name, float(threshold[name]), float(confidence))
    return None


def threshold_rule(threshold: Any) -> tuple[str, float]:
    """Name and value of a rule; the value of one that takes none is 0."""
    if isinstance(threshold, str):
        return threshold, 0.0
    ((name, value),) = threshold.items()
    return name, value


RANKER_CONSTRAINTS: dict[str, list[Any]] = {
    "alpha": [POSITIVE, StrOptions({"auto"})],
    "basis": [StrOptions({"auto", "rare", "all", "random"}), COUNT, "array-like"],
    "landmarks": [StrOptions({*LANDMARKS, "greedy"})],
    "standardize": STANDARDIZE,
    **KERNEL_CONSTRAINTS,
    "loss": [StrOptions(set(LOSSES)), LossObject()],
    "emphasis": [Emphasis(" ('f1' and 'break_even' are for two classes: RankRC)"), None],
    "penalty": [StrOptions({"l2", "l1"})],
    "solver": [StrOptions({"trust-region", "stochastic"})],
    "tol": [POSITIVE],
    "max_iter": [COUNT, None],
    "random_state": ["random_state"],
}


@dataclass(frozen=True)
class Settings:
    """Checked parameters, beside the kernel."""

    owner: str
    """The class that errors name."""
    alpha: Any
    """As it was given; kernel functions that are chosen with the loss depend on it."""
    basis: Any
    landmarks: str
    loss: LossOfPairs
    push: float
    profile: Profile | None
    measure: Measure | None
    penalty: str
    solver: str
    tol: float
    max_iter: int | None

    @property
    def is_plain(self) -> bool:
        """Whether it is the objective that the bound on scores is about, with a loss of slope at most 1."""
        emphasised = self.push != 1.0 or self.profile is not None or self.measure is not None
        return self.penalty == "l2" and not emphasised and isinstance(self.loss, (SmoothedHinge, Logistic))


_LARGEST, _PER_SAMPLE = 1e-3, 2.0
"""With alpha="auto": the mean over folds of the thesis' data sets is flat around 0.001 up to some thousand samples, and
larger sets have their best average precision at smaller ones."""


def resolve_alpha(alpha: Any, weights: Array) -> float:
    """The weight of the penalty; "auto" means one that falls with the number of samples."""
    if isinstance(alpha, str):
        return min(_LARGEST, _PER_SAMPLE / max(1, int(np.count_nonzero(weights))))
    return float(alpha)
