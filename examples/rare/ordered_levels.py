"""
Ordered levels, most cases in the lowest
========================================

Grades of a disease (scikit-learn's diabetes data, its response cut into four levels of which the highest are rare).
`OrdinalRankRC` ranks by pairs of different levels, with kernel functions of all levels but the most frequent;
`OrdinalRankRCCV` chooses its penalty. They are measured by the share of pairs in the right order, `mauc_score`.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.linear_model import Ridge
from sklearn.model_selection import train_test_split
from sklearn.svm import SVR

from rarefy.metrics import mauc_score
from rarefy.ranking import OrdinalRankRC, OrdinalRankRCCV

X, response = load_diabetes(return_X_y=True)
level = np.digitize(response, np.quantile(response, [0.6, 0.85, 0.95]))
X, X_new, y, y_new = train_test_split(X / X.std(axis=0), level, test_size=0.4, stratify=level, random_state=0)
print("samples of each level:", np.bincount(level).tolist())

# %%
# Regression on the level's number is a simpler way, and close: in the reproduction of the thesis support vector
# regression was the better one (:doc:`/reproduction/rare_class`). A ranker does not ask how far apart two levels are.

search = OrdinalRankRCCV(OrdinalRankRC(random_state=0), cv=5).fit(X, y)
fixed = OrdinalRankRC(search.alpha_, random_state=0).fit(X, y)
scores = {
    "OrdinalRankRCCV": search.decision_function(X_new),
    "SVR on the number": SVR().fit(X, y).predict(X_new),
    "ridge on the number": Ridge(10.0).fit(X, y).predict(X_new),
}
for name, values in scores.items():
    print(f"{name:20s} pairs in the right order: {mauc_score(y_new, values):.3f}")
print(f"{fixed.dual_coef_.shape[1]} kernel functions, alpha = {search.alpha_:.3g}")

# %%

figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.8), layout="constrained")
left.boxplot([scores["OrdinalRankRCCV"][y_new == k] for k in range(4)], positions=range(4), widths=0.6)
for cut in search.cuts_:
    left.axhline(cut, color="#c8553d", linewidth=0.8, linestyle="--")
left.set(xlabel="true level", ylabel="score", title="new samples; cuts of predict dashed")
counts = np.zeros((4, 4), dtype=int)
np.add.at(counts, (y_new, search.predict(X_new)), 1)
right.imshow(counts, cmap="Blues")
for (i, j), count in np.ndenumerate(counts):
    right.text(j, i, count, ha="center", va="center", color="w" if count > 50 else "k")
right.set(xlabel="predicted level", ylabel="true level", xticks=range(4), yticks=range(4))
plt.show()
