"""
Words whose presence tells the topic
====================================

200 generated documents about sailing and opera, 3000 words of which 80 belong to one of the topics; the others are
invented. `InformationGainSelector` scores each word by how much its presence or absence says about the class, in
bits. It is fast, sees one word at a time, and is a filter that is hard to beat on documents.
"""

import matplotlib.pyplot as plt
import numpy as np

import rarefy
from rarefy.datasets import make_topics
from rarefy.selection import BestSubsetSelector, InformationGainSelector

topics = make_topics(200, 3000, random_state=0)
X, y, names = topics.data, topics.target, topics.feature_names
selector = InformationGainSelector(80).fit(X, y)
print("highest scores:", ", ".join(names[selector.selection_order_[:8]]))

# %%
# What do its words keep? `certify` proves which share of the objective of a linear SVM with all words they keep, for
# these labels. The best 80 words, chosen together, keep more of it; whether they also predict better is another
# question.

Z = X.log1p()
best = BestSubsetSelector(80, C=0.01, standardize=False).fit(Z, y)
for name, found in (("information gain", selector), ("best subset", best)):
    certificate = rarefy.certify(Z, found.get_support(), y=y, C=0.01, loss="squared_hinge")
    print(f"{name:17s} at least {100 * certificate.objective_ratio:.0f} % of what all words allow")

# %%

order = selector.selection_order_[:20][::-1]
present = np.array([np.asarray((X[y == label][:, order] > 0).mean(axis=0)).ravel() for label in np.unique(y)])
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4.8), layout="constrained", sharey=True)
left.barh(range(20), selector.scores_[order], color="#3d6fa3")
left.set(yticks=range(20), xlabel="information gain (bits)")
left.set_yticklabels(names[order])
for share, label, colour in zip(present, np.unique(y), ("#c8553d", "#3a7d44"), strict=True):
    right.plot(100 * share, range(20), "o", color=colour, label=f"about {label}")
right.set(xlabel="documents with the word (%)")
right.legend(frameon=False)
plt.show()
