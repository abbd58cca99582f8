"""
Probabilities from a kernel classifier
======================================

`SubspaceLPSVCCV` chooses the width of the kernel and the weight of the norm in folds, and turns the scores of held-out
samples into probabilities by one temperature: of digits with a probability of 0.9, about nine in ten are to be right.
Nothing has to be scaled, and no parameter has to be set.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from rarefy.kernel import SubspaceLPSVC, SubspaceLPSVCCV

X, y = load_digits(return_X_y=True)
X, X_new, y, y_new = train_test_split(X, y, train_size=500, stratify=y, random_state=0)
search = SubspaceLPSVCCV(SubspaceLPSVC(random_state=0), alphas=[0.03, 0.3, 3.0], cv=3).fit(X, y)
print(
    f"error {1 - search.score(X_new, y_new):.1%}, chosen: {search.best_params_}, temperature {search.temperature_:.2f}"
)

# %%
# New digits are sorted by the probability of the predicted class and cut into tenths.

chances = search.predict_proba(X_new)
right, sure = search.predict(X_new) == y_new, chances.max(axis=1)
tenths = np.array_split(np.argsort(sure), 10)
figure, (left, middle) = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
search.plot(ax=left)
left.set(title="held-out accuracy in the folds")
middle.plot([0.3, 1], [0.3, 1], color="grey", lw=1)
middle.plot([sure[part].mean() for part in tenths], [right[part].mean() for part in tenths], "o-")
middle.set(xlabel="probability of the predicted class", ylabel="share that is right", title="new digits, in tenths")
plt.show()
