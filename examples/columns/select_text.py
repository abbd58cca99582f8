"""
Few words instead of thousands
==============================

A document-term matrix has far more words than documents. You want to keep few words, without asking the labels, and
still train a linear SVM that is about as good as on all words. The choice is a step of the pipeline, so that
cross-validation repeats it on every training set.

120 generated documents, 5000 words, five folds: each training set has 96 documents and rank 96. One document more or
less is 0.008 of accuracy.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.feature_selection import SelectKBest, chi2
from sklearn.model_selection import StratifiedKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

import rarefy
from rarefy.datasets import make_topics
from rarefy.exceptions import FewerFeaturesWarning
from rarefy.selection import BSSSelector, LeverageScoreSelector

warnings.simplefilter("ignore", FewerFeaturesWarning)  # leverage scores draw some words more than once


def frequency(X, y):
    """A score that looks at single words, not at labels: how much of the text they are."""
    return np.asarray(X.sum(axis=0)).ravel()


def at_random(X, y):
    """A score that knows nothing."""
    return np.random.default_rng(0).random(X.shape[1])


def guarantee(model, X):
    """What the chosen words preserve of the training documents, for any labels: smaller is better, 1 is all."""
    tfidf, selector, _ = model
    own = getattr(selector, "certificate_", None)
    certificate = own or rarefy.certify(tfidf.transform(X), selector.get_support())
    return np.inf if certificate.radius_margin_ratio is None else certificate.radius_margin_ratio


def selectors(r):
    return {
        "BSS": BSSSelector(r),
        "no weights": BSSSelector(r, method="unweighted"),
        "leverage": LeverageScoreSelector(r, random_state=0),
        "frequent": SelectKBest(frequency, k=r),
        "random": SelectKBest(at_random, k=r),
        "chi2": SelectKBest(chi2, k=r),
    }


topics = make_topics(120, 5000, random_state=0)
X, y = topics.data, topics.target
folds = StratifiedKFold(5, shuffle=True, random_state=0)
everything = cross_validate(make_pipeline(TfidfTransformer(), LinearSVC()), X, y, cv=folds)
print(f"{X.shape[0]} documents, {X.shape[1]} words, {100 * X.nnz / np.prod(X.shape):.1f} % non-zero")
print(f"accuracy with all words: {everything['test_score'].mean():.3f}\n")

# %%
# For these labels simpler choices are better: all words, the most frequent ones and the chi-squared test, which looks
# at the labels. The topics differ in words of middling frequency, and a count finds those. What `BSSSelector` is
# better at is what holds for every *other* question about the same documents: how much squared radius over squared
# margin can grow at most.

results = {}
print("words  method      accuracy  squared radius / squared margin grows at most by (any labels, three folds)")
for r in (120, 480):
    for name, selector in selectors(r).items():
        model = make_pipeline(TfidfTransformer(), selector, LinearSVC())
        runs = cross_validate(model, X, y, cv=folds, return_estimator=True, return_indices=True)
        training = list(zip(runs["estimator"], runs["indices"]["train"], strict=True))
        growth = np.median([guarantee(fitted, X[rows]) for fitted, rows in training[:3]])
        results[r, name] = growth, runs["test_score"].mean()
        print(f"{r:5d}  {name:10s}  {results[r, name][1]:8.3f}  {growth:10.3g}")

# %%
# To the left is better for any labels, upwards is better for these. 120 random words lose a direction, have no bound,
# and are not drawn.

figure, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
for (r, name), (growth, accuracy) in results.items():
    if np.isfinite(growth):
        ax.scatter(growth, accuracy, s=0.2 * r, color="#c8553d" if r == 480 else "#3d6fa3")
        place = (-12, -15) if name == "no weights" else (6, 4)
        ax.annotate(name, (growth, accuracy), xytext=place, textcoords="offset points", fontsize=9)
ax.axhline(everything["test_score"].mean(), color="0.5", linestyle=":", label="all 5000 words")
ax.scatter([], [], s=96, color="#c8553d", label="480 words")
ax.scatter([], [], s=24, color="#3d6fa3", label="120 words")
ax.set(xscale="log", xlabel="radius / margin grows at most by, any labels", ylabel="accuracy, these labels")
ax.legend(frameon=False, loc="lower left")
plt.show()
