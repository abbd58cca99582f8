"""
Choosing the penalty of a ranker
================================

A tenth of the samples are rare, around six centres, and the common ones lie between them (`make_rare_gaussians`).
`RankRCCV` tries weights of the penalty, and if asked widths of the kernel and bases, by any measure on held-out
samples.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import roc_auc_score

from rarefy.datasets import make_rare_gaussians
from rarefy.inspection import PathDisplay, ThresholdDisplay
from rarefy.ranking import RankRC, RankRCCV

X, y = make_rare_gaussians(3000, overlap=0.5, scale=0.4, random_state=0)
X, X_new, y, y_new = X[:1000], X[1000:], y[:1000], y[1000:]
search = RankRCCV(RankRC(threshold="f1", random_state=0), alphas=4.0 ** np.arange(-9, 3), cv=5).fit(X, y)
print(f"chosen: alpha = {search.alpha_:.3g}, area on held-out folds {search.best_score_:.3f}")
print(f"area on 2000 new samples: {roc_auc_score(y_new, search.score_samples(X_new)):.3f}")

# %%
# How many kernel functions does it take? The default has those of the rare samples and of as many others (at least
# 100).

for basis in ("rare", "auto", 30, "all"):
    model = RankRC(search.alpha_, basis=basis, random_state=0).fit(X, y)
    area = roc_auc_score(y_new, model.score_samples(X_new))
    print(f"basis={basis!r:7}: {model.dual_coef_.shape[1]:4d} kernel functions, area {area:.3f}")

# %%
# On the left the measure on held-out folds; on the right precision and recall against the threshold, from held-out
# scores, so that the threshold is not too optimistic.

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
PathDisplay.from_estimator(search, ax=left)
shown = ThresholdDisplay.from_estimator(search, None, y, ax=right)
plt.show()
