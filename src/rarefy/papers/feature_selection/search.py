"""As in the thesis: exact steps of the trust region, and C, mu and start chosen by the method itself in every fold."""

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from rarefy.core.feature_weights.selection import SearchSettings
from rarefy.kernel import KernelFeatureSelector


class ExactSteps(KernelFeatureSelector):
    """The selector with trust region steps that minimise the model exactly, by all eigenvalues of the Hessian."""

    def _settings(self) -> SearchSettings:
        return replace(super()._settings(), step="exact")


def cross_validated(
    selectors: Sequence[KernelFeatureSelector],
    X: Any,
    y: NDArray[Any],
    *,
    Cs: Sequence[float],
    mus: Sequence[float],
    folds: Any,
) -> KernelFeatureSelector:
    """The selector, C and mu with the best accuracy in the folds, fitted to all samples along its path.

    `KernelFeatureSelectorCV` gives up hopeless values and starts at neighbours, which the thesis does not. Of equal
    accuracies the one with the fewest features wins, then the largest mu and the smallest C.
    """
    values: NDArray[np.float64] = np.sort(np.asarray(mus, dtype=np.float64))
    candidates = [clone(selector).set_params(C=float(C)) for selector in selectors for C in Cs]
    splits = list(folds.split(X, y))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        scores, sizes = np.zeros((2, len(candidates), len(values), len(splits)))
        for i, candidate in enumerate(candidates):
            for f, (train, test) in enumerate(splits):
                path = candidate.mu_path(X[train], y[train], values)
                scores[i, :, f] = (path.predict(X[test]) == y[test]).mean(axis=1)
                sizes[i, :, f] = path.attribute("support_").sum(axis=1)
        mean, size = scores.mean(axis=2).round(12), sizes.mean(axis=2)
        i, j = max(np.ndindex(*mean.shape), key=lambda at: (mean[at], -size[at], at[1], -at[0]))
        found: KernelFeatureSelector = candidates[i].mu_path(X, y, values[: j + 1]).models[-1]
    return found
