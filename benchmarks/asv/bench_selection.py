"""Choosing columns by spectral sparsification."""

import numpy as np
from scipy import sparse

from rarefy.selection import BSSSelector


class BSSSelection:
    params = (["single", "dual"], ["dense", "sparse"], [100, 300])
    param_names = ("method", "storage", "n_features_to_select")

    def setup(self, method, storage, n_features_to_select):
        rng = np.random.default_rng(0)
        X = rng.standard_normal((60, 3000))
        self.X = X if storage == "dense" else sparse.csr_array(X * (rng.random(X.shape) < 0.05))
        self.selector = BSSSelector(n_features_to_select=n_features_to_select, method=method)

    def time_fit(self, method, storage, n_features_to_select):
        self.selector.fit(self.X)

    def peakmem_fit(self, method, storage, n_features_to_select):
        self.selector.fit(self.X)


class Certificates:
    def setup(self):
        self.X = np.random.default_rng(0).standard_normal((60, 3000))
        self.certificate = BSSSelector(n_features_to_select=300).fit(self.X).certificate_

    def time_verify(self):
        self.certificate.verify(self.X)
