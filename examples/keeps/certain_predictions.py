"""
Which predictions cannot have changed?
======================================

After selection a model predicts from few columns. For regularised least squares the distance to the prediction with
*all* columns is bounded for every single query, without fitting the model with all columns. Where the bound is
smaller than the prediction itself, its sign is certain.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import Ridge
from sklearn.preprocessing import normalize

import rarefy
from rarefy.datasets import make_topics
from rarefy.selection import BSSSelector

topics = make_topics(160, 3000, random_state=0)
X = normalize(topics.data)
y = np.where(topics.target == "opera", 1.0, -1.0)
train, new = np.arange(100), np.arange(100, 160)
ALPHA = 1.0

# %%
# The more words are kept, the more of the 60 new documents are certainly in the class that all words would give. That
# is a statement about the other model, not about the truth.

certain, bounds = [], {}
SIZES = (110, 150, 250, 500)
for r in SIZES:
    c = BSSSelector(r).fit(X[train]).certificate_
    arguments = (X[train], c.indices, c.weights, y[train], X[new])
    signs = rarefy.certified_signs(*arguments, alpha=ALPHA)
    bounds[r] = rarefy.prediction_difference_bound(*arguments, alpha=ALPHA)
    certain.append(int(signs.sum()))
    print(f"{r:5d} words: {certain[-1]:2d} of 60 signs are certain; median bound {np.median(bounds[r]):.3f}")

# %%

c = BSSSelector(SIZES[-1]).fit(X[train]).certificate_
small = Ridge(alpha=ALPHA, fit_intercept=False).fit(X[train][:, c.indices] * c.weights, y[train])
full = Ridge(alpha=ALPHA, fit_intercept=False).fit(X[train], y[train])
kept = small.predict(X[new][:, c.indices] * c.weights)
order = np.argsort(kept)
figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.8), layout="constrained", width_ratios=(1, 1.6))
left.plot(SIZES, certain, "o-")
left.set(xlabel="words kept", ylabel="signs that are certain, of 60", ylim=(0, 62), xscale="log")
left.set_xticks(SIZES, [str(size) for size in SIZES])
left.minorticks_off()
right.fill_between(
    range(60), (kept - bounds[SIZES[-1]])[order], (kept + bounds[SIZES[-1]])[order], alpha=0.3, label="bound"
)
right.plot(kept[order], ".", label=f"{SIZES[-1]} words")
right.plot(full.predict(X[new])[order], "k_", label="all 3000 words")
right.axhline(0.0, color="0.5", linewidth=1)
right.set(xlabel="new documents, sorted", ylabel="prediction")
right.legend(frameon=False)
plt.show()
