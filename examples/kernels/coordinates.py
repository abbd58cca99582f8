"""
Coordinates in a kernel's feature space
=======================================

`KernelSubspace` finds the leading directions of a kernel's feature space from a few landmarks and gives every sample
its coordinates along them. After that any linear model can work there. Two rings that no line separates, 600 samples,
60 landmarks.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_circles
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import make_pipeline

import rarefy
from rarefy.kernel import KernelSubspace

X, y = make_circles(600, factor=0.45, noise=0.12, random_state=0)
subspace = KernelSubspace(6, n_landmarks=60, gamma=2.0, random_state=0).fit(X)
model = make_pipeline(subspace, LogisticRegression()).fit(X[:300], y[:300])
print(f"accuracy on 300 new samples: {model.score(X[300:], y[300:]):.3f}")
print(f"without the coordinates:     {LogisticRegression().fit(X[:300], y[:300]).score(X[300:], y[300:]):.3f}")

# %%
# The kernel matrix of the coordinates takes the place of the whole one. `certify_kernels` compares the two: which
# share of the objective of a kernel SVM is kept, proved, for these labels.

part = X[:200]
K = rbf_kernel(part, gamma=2.0)
shares = []
SIZES = (1, 2, 4, 6, 10, 20)
for size in SIZES:
    D = KernelSubspace(size, n_landmarks=60, gamma=2.0, random_state=0).fit(part).transform(part)
    certificate = rarefy.certify_kernels(K, D @ D.T, y[:200], C=1.0)
    shares.append(certificate.objective_ratio)
    print(f"{size:2d} coordinates: at least {certificate.objective_ratio:.2f} of the objective")

# %%
# The first coordinates as heights over the plane: like the modes of a drum.

ticks = np.linspace(-1.6, 1.6, 80)
plane = np.array(np.meshgrid(ticks, ticks)).reshape(2, -1).T
heights = subspace.transform(plane)
figure, axes = plt.subplots(1, 4, figsize=(11, 3.0), layout="constrained")
for k, ax in enumerate(axes[:3]):
    ax.contourf(ticks, ticks, heights[:, k].reshape(80, 80), 14, cmap="RdBu_r")
    ax.scatter(*X.T, c=np.where(y == 1, "k", "w"), edgecolors="k", linewidths=0.3, s=5)
    ax.set(title=f"coordinate {k + 1}", xticks=[], yticks=[], aspect="equal")
axes[3].plot(SIZES, shares, "o-")
axes[3].set(xlabel="coordinates", ylabel="share kept, at least", ylim=(0, 1))
plt.show()
