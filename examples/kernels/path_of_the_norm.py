"""
From few directions to many
===========================

The weight `alpha` of the norm decides how many directions each class of `SubspaceLPSVC` uses. `alpha_path` solves for
many values in one subspace, each program started from the solution before, and `PathDisplay` draws what becomes of
it. Take the largest `alpha` on the flat part of the error.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from rarefy.inspection import PathDisplay
from rarefy.kernel import SubspaceLPSVC

X, y = load_digits(return_X_y=True)
X, X_new, y, y_new = train_test_split(X / 16.0, y, train_size=700, stratify=y, random_state=0)
model = SubspaceLPSVC(n_components=30, n_landmarks=200, gamma="mean_distance", random_state=0)
path = model.alpha_path(X, y, np.geomspace(0.03, 100.0, 8))
errors = np.mean(path.predict(X_new) != y_new, axis=1)
weights = np.mean(np.abs(path.attribute("coef_")) > 1e-9, axis=(1, 2))
print(" alpha  error  weights used  largest gap")
for alpha, error, share, gap in zip(path.values, errors, weights, path.attribute("duality_gap_"), strict=True):
    print(f"{alpha:6.2f}  {error:5.1%}  {share:12.0%}  {gap.max():11.0e}")

# %%

figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.8), layout="constrained")
PathDisplay.from_path(path, ax=left)
left.set(title="objective of the ten classes", yscale="log")
left.legend(title="digit", ncols=2, fontsize=8, frameon=False)
right.plot(path.values, 100 * errors, "o-", label="error (%)")
right.plot(path.values, 100 * weights, "s-", label="weights used (%)")
right.set(xscale="log", xlabel="alpha", ylim=(0, None))
right.legend(frameon=False)
plt.show()
