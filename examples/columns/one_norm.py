"""
How many columns a 1-norm SVM keeps
===================================

The sum of absolute weights as penalty sets most weights exactly to zero; how many are left follows from C and cannot
be asked for. `LPSVMSelector` solves that linear program exactly, and reports the distance to the optimum. Here are
100 rows and 500 columns, of which the first 20 differ between the classes, the later the more.
"""

import matplotlib.pyplot as plt
import numpy as np

from rarefy.datasets import make_relevant
from rarefy.selection import LPSVMSelector

X, y = make_relevant(100, 500, 20, random_state=0)
X = X / X.std(axis=0) + 3.0 * np.random.default_rng(1).standard_normal(X.shape)  # noise, so that no column suffices
CS = np.geomspace(0.002, 1.0, 12)
models = [LPSVMSelector(C=C).fit(X, y) for C in CS]
print("     C  columns  relevant  largest gap")
for C, model in zip(CS, models, strict=True):
    print(f"{C:6.3f}  {model.support_.sum():7d}  {model.support_[:20].sum():8d}  {model.duality_gap_:11.0e}")

# %%
# With a small C few columns are kept, most of them relevant. With a large one as many as it takes to fit every row,
# most of them noise: an l1 penalty says nothing about how many columns are *needed*.

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
left.plot(CS, [model.support_.sum() for model in models], "o-", label="all")
left.plot(CS, [model.support_[:20].sum() for model in models], "s-", label="relevant")
left.set(xscale="log", xlabel="C", ylabel="columns kept")
left.legend(frameon=False)
for column, weights in enumerate(np.array([model.coef_[0] for model in models]).T):
    right.plot(CS, weights, color="#c8553d" if column < 20 else "0.75", linewidth=1, zorder=2 - (column >= 20))
right.set(xscale="log", xlabel="C", ylabel="weight", title="relevant columns in red")
plt.show()
