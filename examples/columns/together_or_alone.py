"""
Columns that matter only together
=================================

Two columns decide the class by the sign of their product; a third has an effect of its own; the others are noise. A
filter that looks at one column at a time cannot see the pair. Relief looks at near neighbours, so it can, as long as
the columns of noise are few: they blur the distances.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_selection import mutual_info_classif

from rarefy.selection import ReliefSelector


def measurements(n, n_columns, seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, n_columns))
    return X, X[:, 0] * X[:, 1] + 0.4 * X[:, 2] > 0


X, y = measurements(400, 12, seed=0)
relief = ReliefSelector(3, n_neighbors=5).fit(X, y)
alone = mutual_info_classif(X, y, random_state=0)
print("three columns by Relief:             ", relief.get_support(indices=True).tolist())
print("three columns by mutual information: ", sorted(np.argsort(-alone)[:3].tolist()))

# %%
# How often all three are found, as columns of noise are added: the mean over five draws of the share of the three
# columns among the three that were kept.

SIZES = (5, 12, 25, 50, 100)
shares = {"Relief, 5 neighbours": [], "mutual information": []}
for size in SIZES:
    found = {name: [] for name in shares}
    for seed in range(5):
        Z, z = measurements(200, size, seed)
        found["Relief, 5 neighbours"].append(ReliefSelector(3, n_neighbors=5).fit(Z, z).support_[:3].mean())
        best = np.argsort(-mutual_info_classif(Z, z, random_state=0))[:3]
        found["mutual information"].append(np.mean(best < 3))
    for name, values in found.items():
        shares[name].append(np.mean(values))

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
left.bar(np.arange(12) - 0.2, relief.scores_ / relief.scores_.max(), 0.4, label="Relief")
left.bar(np.arange(12) + 0.2, alone / alone.max(), 0.4, label="mutual information")
left.set(xlabel="column", ylabel="score, largest = 1", xticks=range(12))
left.legend(frameon=False)
for name, values in shares.items():
    right.plot(SIZES, values, "o-", label=name)
right.set(xlabel="columns", ylabel="share of the three found", ylim=(0, 1.05), xscale="log")
right.set_xticks(SIZES, [str(size) for size in SIZES])
right.minorticks_off()
right.legend(frameon=False)
plt.show()
