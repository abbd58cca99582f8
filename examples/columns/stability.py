"""
Would the same words be chosen again?
=====================================

Selectors choose words on thirty resamples of 80 documents with 2000 words. The stability index is 1 when all
resamples give the same words and 0 on average when words are drawn at random, however many are drawn. Pivoted QR and
spectral sparsification keep most of their words, information gain fewer though it names topic words, leverage scores
draw new ones each time, and random words come out at 0, as they must.
"""

import matplotlib.pyplot as plt

import rarefy
from rarefy.datasets import make_topics
from rarefy.inspection import StabilityDisplay
from rarefy.selection import (
    BSSSelector,
    InformationGainSelector,
    LeverageScoreSelector,
    RandomSelector,
    RRQRSelector,
)

topics = make_topics(80, 2000, random_state=0)
selectors = {
    "BSS, 60 % of the norm": BSSSelector(100, rank=0.6),
    "leverage scores": LeverageScoreSelector(100),
    "pivoted QR": RRQRSelector(60),
    "information gain": InformationGainSelector(100),
    "random": RandomSelector(100),
}
reports = {}
print(f"{'selector':24s} stability  95 % interval    most often chosen")
for name, selector in selectors.items():
    report = rarefy.selection_stability(selector, topics.data, topics.target, n_splits=30, random_state=0)
    reports[name] = report
    low, high = report.confidence_interval
    words = ", ".join(str(topics.feature_names[i]) for i, _ in report.top(3))
    print(f"{name:24s} {report.stability:9.3f}  {low:6.3f} to {high:5.3f}   {words}")

# %%
# Each bar is the share of the resamples in which a word was chosen. With information gain a handful is chosen always;
# at random no word is.

figure, axes = plt.subplots(1, 2, figsize=(9, 4.2), layout="constrained")
for ax, name in zip(axes, ("information gain", "random"), strict=True):
    shown = StabilityDisplay.from_report(reports[name], n_features=12, ax=ax)
    ax.set_title(f"{name}: stability {abs(reports[name].stability):.2f}", loc="left")
    ax.set_yticks(range(12), [topics.feature_names[i] for i, _ in reports[name].top(12)])
plt.show()
