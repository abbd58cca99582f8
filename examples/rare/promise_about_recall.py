"""
A threshold that is a promise
=============================

"Find at least 80 % of the fraud": a threshold chosen on the training data finds fewer of the new cases.
`certify_threshold` takes held-out scores of *any* model, here gradient boosting, and promises a recall with a stated
confidence. It counts on nothing but that future rare cases are drawn like these. Then the promise is tested, a
hundred times.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier

from rarefy.datasets import make_rare_gaussians
from rarefy.inspection import ThresholdDisplay
from rarefy.ranking import certify_threshold

X, y = make_rare_gaussians(30_000, overlap=0.5, scale=0.2, rare=0.02, random_state=0)
model = HistGradientBoostingClassifier(max_iter=30, random_state=0).fit(X[:4000], y[:4000])
scores = model.decision_function(X)
held_out = slice(4000, 8000)
promise = certify_threshold(scores[held_out], y[held_out], recall=0.8, confidence=0.9)
print(promise.sentence)
print(f"{promise.n_cases} rare cases were held out; a promise needs at least {promise.n_needed}.")
print(f"Checked: {bool(promise.verify())}")

# %%
# How often does it hold? A hundred times, 4000 cases are drawn, a threshold is made from them, and the recall among
# all others is counted. "Plain" is the threshold that has a recall of 80 % on the drawn cases.

rng = np.random.default_rng(0)
rest = np.arange(4000, len(y))
reached = {"plain": [], "promised": []}
for _ in range(100):
    drawn = rng.choice(rest, 4000, replace=False)
    others = np.setdiff1d(rest, drawn)
    rare = scores[drawn][y[drawn] == 1]
    cuts = {
        "plain": np.sort(rare)[int(np.floor(0.2 * len(rare)))],
        "promised": certify_threshold(scores[drawn], y[drawn], recall=0.8, confidence=0.9).threshold,
    }
    for name, cut in cuts.items():
        reached[name].append(np.mean(scores[others][y[others] == 1] >= cut))
for name, recalls in reached.items():
    print(f"{name:9s}: at least 80 % of the others found in {np.mean(np.array(recalls) >= 0.8):.0%} of the draws")

# %%

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
shown = ThresholdDisplay.from_predictions(y[held_out], scores[held_out], threshold=promise, ax=left)
right.hist(list(reached.values()), bins=np.linspace(0.65, 0.95, 16), label=list(reached))
right.axvline(0.8, color="0.3", linestyle="--", label="what was asked for")
right.set(xlabel="recall among the others", ylabel="draws")
right.legend(frameon=False)
plt.show()
