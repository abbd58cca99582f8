"""What KernelFeatureSelectorCV does with very many samples: it chooses among some, and learns from all of them."""

from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import PredefinedSplit

from rarefy.core.feature_weights.classifiers import Classifiers
from rarefy.core.feature_weights.samples import one_against_rest, share_of_classes
from rarefy.core.linalg.rows import Array, Index
from rarefy.core.losses.hinge import SmoothedHinge
from rarefy.kernel._feature_grid import Grid, Samples
from rarefy.kernel._feature_model import LARGEST, SAMPLE
from rarefy.kernel._feature_samples import check_pairs, dense_copy, encode_classes, more_distinct, to_dense
from rarefy.kernel._feature_selector import KernelFeatureSelector

_INSTEAD = (
    "Pass some of the samples; or an estimator with a landmark form (kernel='rbf', n_landmarks='auto') and a cv that "
    "splits any samples."
)


@dataclass(frozen=True)
class Some:
    """Among which samples parameters are chosen, and the penalty that belongs to them for each unit of that for all."""

    rows: Index
    ratio: float

    def grid(self, grid: Grid) -> Grid:
        """Penalties that are numbers are those for all samples."""
        return grid if grid.relative else replace(grid, mus=grid.mus * self.ratio)

    def model_of_all(
        self, model: KernelFeatureSelector, X: Any, y: NDArray[Any], weights: Array
    ) -> KernelFeatureSelector:
        """The landmark form for all samples with the parameters of a model of some, from its weights."""
        mu, start = model.mu_ / self.ratio, model.feature_weights_
        last = clone(model).set_params(mu=mu, init=start if start.any() else model.init)
        task = last._task_of(X, y, weights)
        (found,), _ = last._learn(task, [mu], validate=False)
        last.set_params(init=model.init)
        last._store(task, mu, found, None)
        return last


def splits_any(cv: Any) -> bool:
    """Whether a `cv` makes folds of any samples that it is given, and does not have numbers of its own."""
    return cv is None or isinstance(cv, Integral) or (hasattr(cv, "split") and not isinstance(cv, PredefinedSplit))


def samples_to_choose_from(
    selector: KernelFeatureSelector, cv: Any, X: Any, y: NDArray[Any], weights: Array, weighted: bool, owner: str
) -> tuple[Some | None, Samples]:
    """All samples, or which of them if they are very many, as an array."""
    some = _some_of_many(selector, X, y, weights, owner) if splits_any(cv) else None
    if some is None:
        check_pairs(X, y, owner, _INSTEAD)
        return None, Samples(dense_copy(X, owner), y, weights, weighted)
    return some, Samples(to_dense(X[some.rows]), y[some.rows], weights[some.rows], weighted)


def _some_of_many(selector: KernelFeatureSelector, X: Any, y: NDArray[Any], weights: Array, owner: str) -> Some | None:
    """Some of very many samples; None if all are few enough, or if the selector has no landmark form."""
    counted = np.flatnonzero(weights > 0.0)
    if selector._n_landmarks(len(counted)) is None or not more_distinct(X, y, LARGEST):
        return None
    classes, labels = encode_classes(y[counted], owner)
    Y = one_against_rest(labels, len(classes))
    of = Classifiers(Y, weights[counted], selector._penalty(), SmoothedHinge(float(selector.eps)))
    taken = share_of_classes(of, 2 * SAMPLE)
    part = replace(of, Y=Y[taken], costs=of.costs[taken])
    return Some(counted[taken], part.constant / of.constant)
