"""
What few kernel functions can change
====================================

`RankRC` uses the kernel functions of a few samples instead of all. How far can its scores be from those of the ranker
with all of them? `subset_bound` knows before the fit, from shares of the classes alone; `certify_scores` measures it
after the fit, from one gradient, and says which pairs of samples are certainly in the same order. The loss of a pair
is a hinge with a round corner, or the logistic loss.
"""

import matplotlib.pyplot as plt
import numpy as np

from rarefy.datasets import make_rare_gaussians
from rarefy.ranking import Logistic, RankRC, SmoothedHinge, certify_scores, subset_bound

X, y = make_rare_gaussians(600, overlap=0.5, rare=0.05, random_state=0)
ALPHA = 0.1
rare, common = np.flatnonzero(y == 1), np.flatnonzero(y == 0)
print(f"known before the fit, {len(rare)} rare:  {subset_bound(y, rare, alpha=ALPHA):.2f}")
print(f"known before the fit, {len(rare)} others: {subset_bound(y, common[: len(rare)], alpha=ALPHA):.2f}")

# %%
# A rare sample is worth more than a common one: there are fewer of them. Measured after the fit, the distance is far
# smaller than the bound allowed for.

sizes, certificates = (10, 30, 60, 120, 300, 600), []
for size in sizes:
    ranker = RankRC(ALPHA, basis=size, random_state=0).fit(X, y)
    certificates.append(certify_scores(ranker, X, y))
    c = certificates[-1]
    print(f"{size:4d} kernel functions: scores within {c.bound:.4f}, {c.certain_pairs:.1%} of the pairs are certain")

# %%
# Both losses on a single pair, as functions of the difference of the two scores.

t = np.linspace(-1.5, 2.5, 200)
losses = {"SmoothedHinge(0.5)": SmoothedHinge(0.5), "SmoothedHinge(0.1)": SmoothedHinge(0.1), "Logistic()": Logistic()}
for name, loss in losses.items():
    found = certify_scores(RankRC(ALPHA, basis=60, loss=loss, random_state=0).fit(X, y), X, y)
    print(f"{name:18s} scores within {found.bound:.4f} with 60 kernel functions")


def value(loss, t):
    """The formulas of their docstrings."""
    if isinstance(loss, Logistic):
        return np.log1p(np.exp(-t))
    curved = (1 - t) ** 2 / (4 * loss.eps)
    return np.where(t >= 1, 0.0, np.where(t < 1 - 2 * loss.eps, 1 - loss.eps - t, curved))


figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.8), layout="constrained")
for name, loss in losses.items():
    left.plot(t, value(loss, t), label=name)
left.set(xlabel="score of the rare one minus score of the other", ylabel="loss of a pair")
left.legend(frameon=False)
right.plot(sizes, [c.bound for c in certificates], "o-", label="measured")
right.plot(sizes[:-1], [c.prior_bound for c in certificates][:-1], "s--", color="0.5", label="known beforehand")
right.set(xscale="log", yscale="log", xlabel="kernel functions", ylabel="scores differ at most by")
right.set_xticks(sizes, [str(size) for size in sizes])
right.minorticks_off()
right.legend(frameon=False)
plt.show()
