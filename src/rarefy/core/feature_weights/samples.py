"""From labelled samples to the problem to solve: classes, units of the features, and a part that is held out."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarefy.core.feature_weights.classifiers import Classifiers
from rarefy.core.feature_weights.kernel import FeatureKernel, Profile
from rarefy.core.feature_weights.penalties import Penalty
from rarefy.core.feature_weights.problem import Problem
from rarefy.core.linalg.rows import Array, Index
from rarefy.core.losses.hinge import SmoothedHinge

_AUTO = 15.0
"""The automatic penalty of a weight of 1 is this part of the losses of a constant classifier."""
_AT_LEAST = 50
"""Samples of a class that are taken if it has so many."""
_FEWEST = 10
"""Held-out samples of each class below which nothing is said about chance."""


@dataclass(frozen=True)
class Units:
    """What is subtracted from every feature, and what it is divided by then."""

    mean: Array
    scale: Array

    def apply(self, X: Array, features: Index | slice = slice(None)) -> Array:
        """Samples in these units; X has only the named features."""
        return np.asarray((X - self.mean[features]) / self.scale[features])

    def of_weights(self, profile: Profile) -> Array:
        """What a weight in these units is divided by for one of the features in their own units.

        The square of a weight is a factor on the differences of the Laplacian, and on the squared ones of the others.
        """
        return np.sqrt(self.scale) if profile.shape == "laplacian" else self.scale

    def undo(self, X: Array, features: Index) -> Array:
        """Samples in their own units from those in these."""
        return np.asarray(X * self.scale[features] + self.mean[features])


@dataclass(frozen=True)
class Validation:
    """How a model does on samples it has not seen.

    accuracy : share of correct labels, or of the variance of responses that is explained; deviations : by how many
    standard deviations the accuracy, averaged over the classes, exceeds that of predictions that have nothing to do
    with the labels; n : number of samples
    """

    accuracy: float
    deviations: float
    n: int


def labelled_problem(
    X: Array,
    labels: Index,
    weights: Array,
    *,
    C: float,
    penalty: Penalty,
    loss: SmoothedHinge,
    profile: Profile,
    groups: Index | None = None,
) -> Problem:
    """The problem for labelled samples: one SVM for two classes, else one for each class against the others.

    Equal samples are merged and all are sorted. A search can depend on the last digits of its input, but it should
    depend neither on the order of the samples nor on whether a sample is given twice or has weight two.

    Parameters
    ----------
    X : (n, d) array
        Samples.
    labels : (n,) array of int
        Their classes, 0, 1, ..., all of which occur.
    weights : (n,) array
        Their weights, all positive.
    C, penalty, loss, profile
        Factor on the losses, penalty of the feature weights, loss and kernel.
    groups : (d,) array of int or None
        Columns that share a weight, see `grouping`.
    """
    n_classes = int(labels.max()) + 1
    rows, where = _distinct(np.column_stack([labels, X]))
    costs: Array = C * np.bincount(where, weights).astype(np.float64, copy=False)
    classifiers = Classifiers(one_against_rest(rows[:, 0], n_classes), costs, penalty, loss)
    return Problem(np.ascontiguousarray(rows[:, 1:]), classifiers, profile, groups)


def merged(problem: Problem) -> Problem:
    """The problem with its samples sorted and equal ones merged, see `labelled_problem`."""
    of, q = problem.classifiers, problem.classifiers.Y.shape[1]
    rows, where = _distinct(np.column_stack([of.Y, problem.X]))
    costs = np.bincount(where, of.costs).astype(np.float64, copy=False)
    own = replace(of, Y=np.ascontiguousarray(rows[:, :q]), costs=costs)
    return replace(problem, X=np.ascontiguousarray(rows[:, q:]), classifiers=own)


def _distinct(rows: Array) -> tuple[Array, Index]:
    """The distinct rows in order, and the place of each row among them."""
    order = np.lexsort((rows[:, min(1, rows.shape[1] - 1)], rows[:, 0]))
    known = rows[order, :2]
    if np.all(np.any(known[1:] != known[:-1], axis=1)):  # two columns tell all apart: many times as fast
        return rows[order], np.argsort(order)
    found, where = np.unique(rows, axis=0, return_inverse=True)
    return found, where.ravel()


def one_against_rest(labels: NDArray[Any], n_classes: int) -> Array:
    """Labels -1 and 1 of one SVM for two classes, else of one for each class."""
    positives = [1] if n_classes == 2 else range(n_classes)
    return np.column_stack([np.where(labels == positive, 1.0, -1.0) for positive in positives])


def standardized(problem: Problem) -> tuple[Problem, Units]:
    """The problem with features of mean 0 and standard deviation 1; constant ones are only centred."""
    costs = problem.classifiers.costs / problem.classifiers.costs.sum()
    mean = costs @ problem.X
    centred = problem.X - mean
    scale = np.sqrt(costs @ centred**2)
    scale = np.where(scale > 10.0 * np.finfo(float).eps * np.abs(mean), scale, 1.0)
    centred /= scale
    return replace(problem, X=centred), Units(mean, scale)


def automatic_mu(classifiers: Classifiers) -> float:
    """A penalty in proportion to the losses: a fifteenth of those of the best constant classifier.

    With two classes of the same size and the default loss these are C n / 2, so the penalty is C n / 30.
    """
    return classifiers.constant / _AUTO


def sample_rows(problem: Problem, size: int) -> tuple[Problem, Index]:
    """The problem with some of the samples and a penalty smaller in proportion; and the other samples.

    Of each class there are as many as in proportion, or fifty if it has so many.
    """
    taken = share_of_classes(problem.classifiers, size)
    return keep_rows(problem, taken), np.flatnonzero(~taken)


def share_of_classes(classifiers: Classifiers, size: int) -> NDArray[np.bool_]:
    """A mask of about so many random samples: of each class as many as in proportion, or fifty if it has so many."""
    rng = np.random.default_rng(0)
    classes = classifiers.strata()
    taken = np.zeros(len(classes), dtype=bool)
    for one in range(classes.max() + 1):
        members = rng.permutation(np.flatnonzero(classes == one))
        taken[members[: max(_AT_LEAST, round(size * len(members) / len(classes)))]] = True
    return taken


def keep_rows(problem: Problem, taken: NDArray[np.bool_]) -> Problem:
    """The problem with some of the samples, and a penalty smaller in proportion to the losses of a constant."""
    of = problem.classifiers
    some = replace(of, Y=of.Y[taken], costs=of.costs[taken])
    whole = of.constant
    ratio = some.constant / whole if whole > 0.0 else 1.0
    some = replace(some, penalty=of.penalty.with_mu(of.penalty.mu * ratio))
    return replace(problem, X=np.ascontiguousarray(problem.X[taken]), classifiers=some)


def hold_out(problem: Problem, share: float) -> tuple[Problem, Index] | None:
    """The problem without some of the samples of each class, with a penalty smaller in proportion; and those samples.

    None if a class would have fewer than ten of them.
    """
    rng = np.random.default_rng(0)
    classes = problem.classifiers.strata()
    held = np.zeros(len(classes), dtype=bool)
    for one in range(classes.max() + 1):
        members = rng.permutation(np.flatnonzero(classes == one))
        size = int(share * len(members))
        if min(size, len(members) - size) < _FEWEST:
            return None
        held[members[:size]] = True
    return keep_rows(problem, ~held), np.flatnonzero(held)


def validate_model(problem: Problem, held: Index, scores: Array) -> Validation:
    """Compare scores of held-out samples with their labels."""
    of = problem.classifiers
    return judge_labels(class_numbers(of.Y[held]), class_numbers(scores), of.costs[held])


def class_numbers(scores: Array) -> Index:
    """The number of the class with the largest score, or of the second of two classes if the score is positive."""
    return scores.argmax(axis=1) if scores.shape[1] > 1 else (scores[:, 0] > 0.0).astype(np.intp)


def judge_labels(labels: NDArray[np.intp], predicted: NDArray[np.intp], weights: Array) -> Validation:
    """Accuracy of predicted labels, and how far it is from chance.

    Predictions that have nothing to do with the labels are right in a share q of the samples of a class, if q is the
    share of all samples that get this class. So the average over the classes is 1 / (number of classes), and its
    variance is that of independent trials.
    """
    classes = np.unique(labels)
    right = (labels == predicted).astype(float)
    recalls = [float(right[labels == c].mean()) for c in classes]
    shares = [float(np.mean(predicted == c)) for c in classes]
    sizes = [int(np.sum(labels == c)) for c in classes]
    variance = sum(q * (1.0 - q) / size for q, size in zip(shares, sizes, strict=True))
    excess = sum(recalls) - sum(shares)
    deviations = excess / np.sqrt(variance) if variance > 0.0 else 0.0
    return Validation(float(np.average(right, weights=weights)), float(deviations), len(labels))


def decision_scores(
    X: Array, weights: Array, support_vectors: Array, dual_coef: Array, intercept: Array, profile: Profile
) -> Array:
    """The scores of samples in the features with a nonzero weight, one column for each classifier.

    Samples are taken in blocks, so that no more than a few million kernel values are held at a time.
    """
    scores = np.empty((len(X), len(intercept)))
    size = max(1, _ENTRIES // max(1, len(support_vectors)))
    for start in range(0, len(X), size):
        part = slice(start, start + size)
        scores[part] = FeatureKernel(X[part], support_vectors, profile).matrix(weights) @ dual_coef.T + intercept
    return scores


_ENTRIES = 2**22
"""Kernel values that are held at a time for predictions."""
