"""What KernelFeatureSelector and KernelFeatureSelectorCV share: checks of samples and starts, and warnings."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.multiclass import check_classification_targets

from rarefy._files import size_in_words
from rarefy._input import as_source, validated
from rarefy._validation import check_labels, check_weights
from rarefy._warnings import warn_user
from rarefy.backends.samples import Samples, as_array
from rarefy.backends.streamed_rows import StreamedRows
from rarefy.config import current_config
from rarefy.core.feature_weights.grouping import shared, spread
from rarefy.core.feature_weights.samples import Validation
from rarefy.core.linalg.rows import Array
from rarefy.exceptions import DegenerateDataError, MemoryBudgetError, ParameterError, RarefyWarning

STARTS = ("auto", "ones", "scaled", "interactions")
"""Names of starts."""
_BY_CHANCE = 0.05
"""Share of models of noise that may pass for better than chance."""
_LOOKED_AT, _LOOKED_AT_ENTRIES = 4000, 1 << 23
"""Samples, and their entries, by which it is told how many of all differ."""


def validate_samples(estimator: Any, X: Any, y: Any, sample_weight: Any) -> tuple[Any, NDArray[Any], Array]:
    """Samples as they are stored (array, CSR matrix or in blocks), labels and weights."""
    owner, X = type(estimator).__name__, as_source(X)
    X, y = validated(estimator, X, y, accept_sparse="csr", dtype=(np.float64, np.float32), ensure_min_samples=2)
    y = check_labels(y, f"y of {owner}")
    check_classification_targets(y)
    weights = check_weights(sample_weight, X, owner)
    return Samples(X) if isinstance(X, StreamedRows) else X, y, weights


def to_dense(X: Any) -> Array:
    """An array in double precision from validated input; samples in blocks only if they are few.

    Double precision, because distances are differences of squares, which lose half of the digits.
    """
    X = as_array(X)
    return np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)


def check_pairs(X: Any, y: NDArray[Any], owner: str, advice: str) -> None:
    """Refuse at once to compute kernel values of all pairs of samples that do not fit into memory; equal ones are one.

    `advice` says what to do instead.
    """
    if more_distinct(X, y, int(np.sqrt(current_config().memory_budget / 8.0))):
        refuse_pairs(X.shape[0], owner, advice)


def refuse_pairs(n: int, owner: str, advice: str) -> None:
    """Refuse to compute kernel values of all pairs of so many samples if they do not fit into memory."""
    needed, budget = 8.0 * n * n, current_config().memory_budget
    if needed > budget:
        raise MemoryBudgetError(
            f"{owner} needs kernel values of all pairs of {n} samples, {size_in_words(needed)}, which do not fit "
            f"memory_budget={size_in_words(budget)}. {advice} Or raise memory_budget with rarefy.set_config."
        )


def more_distinct(X: Any, y: NDArray[Any], limit: int) -> bool:
    """Whether far more than `limit` of the labelled samples differ, as some of them show.

    Of `limit` different ones, some thousand random samples would have a number of different ones that is known, with
    a standard deviation of less than the root of the number of pairs that are equal.
    """
    n = X.shape[0]
    size = min(n, _LOOKED_AT, max(200, _LOOKED_AT_ENTRIES // max(1, X.shape[1])))
    if n <= limit or n <= size:
        return False
    chosen = np.sort(np.random.default_rng(0).choice(n, size, replace=False))
    codes = np.unique(y[chosen], return_inverse=True)[1]
    n_distinct = len(np.unique(np.column_stack([codes.ravel(), to_dense(X[chosen])]), axis=0))
    return n_distinct > limit * -np.expm1(-size / limit) + 5.0 * size / np.sqrt(2.0 * limit)


def encode_classes(y: NDArray[Any], owner: str) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """The classes in order and the number of each sample's class; at least two classes are needed."""
    classes, labels = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        found = f"1 class, {classes.tolist()[0]!r}" if len(classes) else "none: all sample weights are zero"
        raise DegenerateDataError(
            f"{owner} needs at least two classes with samples of positive weight; y has {found}. Add samples of "
            "another class."
        )
    return classes, labels


def check_start(
    name: str, value: Any, n_features: int, owner: str, groups: NDArray[np.intp] | None = None
) -> str | Array:
    """Check one start: a name or a weight for each feature, the same for those that share it; returned as an array."""
    if isinstance(value, str) and value in STARTS:
        return value
    try:
        weights = np.array(value, dtype=np.float64)
        got = f"an array of shape {weights.shape}"
    except (TypeError, ValueError):
        weights, got = np.array([]), repr(value)
    if weights.shape == (n_features,):
        if np.all(np.isfinite(weights)) and weights.min() >= 0.0 and weights.any():
            return _check_shared(name, weights, owner, groups)
        got = f"{weights}"
    words = ", ".join(repr(one) for one in STARTS)
    raise ParameterError(
        f"{name} of {owner} must be {words} or {n_features} finite weights >= 0, one for each feature and not "
        f"all zero; got {got}."
    )


def check_groups(groups: Any, n_features: int, owner: str) -> tuple[NDArray[Any], NDArray[np.intp] | None]:
    """The labels of the groups in order, and the number of each feature's group; None stands for one feature each."""
    if groups is None:
        return np.arange(n_features), None
    try:
        labels = np.asarray(groups)
        found, numbers = np.unique(labels, return_inverse=True)
        got = f"an array of shape {labels.shape}"
    except (TypeError, ValueError):  # labels of different types have no order; ragged lists are no array
        found, numbers, labels, got = np.array([]), np.array([]), np.array([]), repr(groups)
    if labels.shape == (n_features,) and np.all(found == found):
        return found, numbers.ravel()
    raise ParameterError(
        f"groups of {owner} must be None or {n_features} labels of one type, none of them missing, one for each "
        f"feature; got {got if labels.shape != (n_features,) else 'nan among the labels'}."
    )


def _check_shared(name: str, weights: Array, owner: str, groups: NDArray[np.intp] | None) -> Array:
    if not np.array_equal(weights, spread(shared(weights, groups), groups)):
        raise ParameterError(f"{name} of {owner} must be the same for all features of a group; got {weights}.")
    return weights


def warn_not_converged(owner: str, method: str, what: str) -> None:
    """Warn that searches stopped at their limit; `what` names them."""
    warn_user(
        f"{owner} with method={method!r}: {what} before the weights converged. Raise max_iter or tol.",
        ConvergenceWarning,
    )


def warn_if_degenerate(model: Any, owner: str) -> None:
    """Warn if a fitted model selected no feature, or if its kernel is so narrow that it overfits."""
    if not model.support_.any():
        warn_user(
            f"{owner} selected no feature: the penalty mu={model.mu_:.4g} is so large that all weights are zero, or "
            "the kernel matrix is numerically constant at the start. Lower mu; standardise the features, or use "
            "init='scaled'.",
            RarefyWarning,
        )
    elif model._memorized:
        warn_user(
            f"{owner} overfits: all training samples are classified correctly, and with the learned weights the "
            "kernel matrix is close to the identity, so that each sample knows little but itself. Standardise the "
            "features, or use init='scaled' or a larger mu.",
            RarefyWarning,
        )


def warn_if_chance(owner: str, checked: Validation, tried: int = 1) -> None:
    """Warn if a model, the best of several, predicts samples that it has not seen no better than chance.

    The best of several exceeds chance more often than one of them, so the limit is higher (Bonferroni's inequality).
    """
    if checked.deviations <= norm.isf(_BY_CHANCE / tried):
        warn_user(
            f"{owner} found nothing that holds for other samples: a fit without some of the samples predicts these no "
            f"better than chance (accuracy {checked.accuracy:.2f}). Do not rely on the selected features; try "
            "KernelFeatureSelectorCV, other parameters or more samples.",
            RarefyWarning,
        )


def warn_if_worse(owner: str, accuracy: float, promised: Validation) -> None:
    """Warn if the weights of the last fit are worse in the folds than those that were learned there."""
    p = promised.accuracy
    error = np.sqrt(max(p * (1.0 - p), 1.0 / promised.n) / promised.n)
    if accuracy < p - 2.0 * error:
        warn_user(
            f"{owner}: the fit to all samples is worse than those in the folds. With its weights, classifiers of the "
            f"folds have an accuracy of {accuracy:.2f} on held-out samples; with their own weights they had {p:.2f}. "
            "Raise n_starts of the estimator, or use other starts.",
            RarefyWarning,
        )
