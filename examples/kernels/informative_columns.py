"""
Which of thirty columns does an RBF classifier need?
====================================================

Clusters on the corners of a cube in 10 informative columns, and 20 columns of noise (`make_ndcc`). Nothing can be
read off an SVM with a Gaussian kernel; `KernelFeatureSelectorCV` learns a weight for every column inside the kernel
and chooses the penalty `mu`, and with it the number of columns, on held-out samples.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.svm import SVC

from rarefy.datasets import make_ndcc
from rarefy.inspection import PathDisplay
from rarefy.kernel import KernelFeatureSelector, KernelFeatureSelectorCV

X, y = make_ndcc(700, n_informative=10, n_noise=20, concentration=1.0, random_state=0)
X, X_new, y, y_new = X[:200], X[200:], y[:200], y[200:]
search = KernelFeatureSelectorCV(
    KernelFeatureSelector(tol=0.01),
    Cs=[1.0, 4.0],
    mus=[0.1, 0.5, 2.0, 8.0],
    inits=("ones",),
    penalties=("weights",),
    cv=3,
)
search.fit(X, y)
print(f"chosen: C = {search.C_:g}, mu = {search.mu_:g}")
print(f"columns: {search.get_support(indices=True).tolist()}  (0 to 9 are informative)")
print(f"error on 500 new samples: {1 - search.score(X_new, y_new):.1%}")
print(f"SVM with all 30 columns:  {1 - SVC(C=4.0).fit(X, y).score(X_new, y_new):.1%}")

# %%
# The path: with a larger `mu` more weights become zero. On the left the weights of informative columns are drawn in
# red; on the right is the score on held-out folds by which `mu` was chosen.

path = KernelFeatureSelector(C=search.C_, tol=0.01).mu_path(X, y, np.geomspace(0.05, 20.0, 8))
figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.8), layout="constrained")
display = PathDisplay.from_path(path, "feature_weights_", chosen=search.mu_, ax=left)
for column, line in enumerate(display.lines_):
    line.set(color="#c8553d" if column < 10 else "0.7", linewidth=1, markersize=2)
left.set_title("weights in the kernel")
PathDisplay.from_estimator(search, ax=right)
plt.show()
