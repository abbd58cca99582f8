"""Feature weights inside a kernel support vector machine."""

import numpy as np

from rarefy.kernel import KernelFeatureSelector


class FeatureWeights:
    params = (["ao2", "reduced"], [10, 40])
    param_names = ("method", "n_features")

    def setup(self, method, n_features):
        self.X = np.random.default_rng(6).standard_normal((120, n_features))
        self.y = self.X[:, 2] * self.X[:, 7] > 0  # neither column helps alone
        self.selector = KernelFeatureSelector(C=1.0, mu=1.0, method=method)

    def time_fit(self, method, n_features):
        self.selector.fit(self.X, self.y)
