"""Machines along the prices of a weight."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class MuPath:
    """Machines for several prices of a weight, in the order in which the prices were given.

    Attributes
    ----------
    mus : ndarray of shape (n_mus,)
        The prices.
    feature_weights : ndarray of shape (n_mus, n_features)
        Weights of the features.
    n_features : ndarray of shape (n_mus,)
        How many features have a weight that is not faint.
    objective : ndarray of shape (n_mus,)
        What was reached.
    models : list of KernelFeatureSelector
        The fitted estimators.
    """

    mus: np.ndarray
    feature_weights: np.ndarray
    n_features: np.ndarray
    objective: np.ndarray
    models: list

    def predict(self, X):
        """Labels by every machine, as an array of shape (n_mus, n_samples)."""
        return np.stack([model.predict(X) for model in self.models])
