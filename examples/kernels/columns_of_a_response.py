"""
Which columns does a smooth response depend on?
===============================================

`KernelFeatureRegressor` learns a weight for every column inside kernel ridge regression. Here the response depends on
two columns that matter only together, their product, and on one alone, among twenty; correlations show only the last.
"""

import matplotlib.pyplot as plt
import numpy as np

from rarefy.kernel import KernelFeatureRegressor

rng = np.random.default_rng(0)
X = rng.standard_normal((300, 20))
y = X[:, 3] * X[:, 7] + 0.7 * X[:, 12] + 0.1 * rng.standard_normal(300)
model = KernelFeatureRegressor(validation_fraction=None).fit(X[:200], y[:200])
print("columns:", model.get_support(indices=True), f"R2 on new samples {model.score(X[200:], y[200:]):.2f}")

# %%

correlations = np.abs(np.corrcoef(X[:200].T, y[:200])[-1, :-1])
figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), sharex=True, layout="constrained")
axes[0].bar(range(20), correlations, color="grey")
axes[0].set(title="correlation with the response", xlabel="column")
axes[1].bar(range(20), model.feature_weights_)
axes[1].set(title="weight inside the kernel", xlabel="column")
plt.show()
