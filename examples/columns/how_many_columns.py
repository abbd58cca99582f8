"""
How many columns are enough?
============================

569 tumours, 30 measurements (scikit-learn's breast cancer data). One dual vector bounds every number of columns at
once, so the curve of what was reached and the curve of what nobody can beat cost little more than single points. The
recommended number is the smallest that keeps a stated share of what all columns allow.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import rarefy
from rarefy.inspection import SelectionCurveDisplay
from rarefy.selection import BestSubsetSelector

X, y = load_breast_cancer(return_X_y=True)
SIZES = [1, 2, 4, 8, 16, 30]
curve = rarefy.best_subset_curve(X, y, n_features=SIZES, C=0.01)
print(curve.to_frame().iloc[:, :4].to_string(index=False, float_format="{:.4f}".format))
print(f"\nFewest of these with at least 80 % of what all 30 allow: {curve.fewest(0.8)}")

# %%
# ``"auto"`` looks at all numbers: the fewest columns that keep 80 % of the objective, with proof.

selector = BestSubsetSelector("auto", target={"objective": 0.8}, C=0.01).fit(X, y)
print(selector.certificate_.sentence)
print("kept:", ", ".join(load_breast_cancer().feature_names[selector.support_]))

# %%
# The accuracy in cross-validation, which no certificate speaks about, is flat from a few columns on.

accuracy = []
for r in SIZES:
    model = make_pipeline(StandardScaler(), BestSubsetSelector(r, C=0.01, max_nodes=0), LinearSVC(C=0.1))
    accuracy.append(cross_val_score(model, X, y, cv=3).mean())

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
curve_shown = SelectionCurveDisplay.from_curve(curve, ax=left)
left.set_title("objective: reached, and out of reach", fontsize=10)
right.plot(SIZES, accuracy, "o-", color="#3a7d44")
right.set(xscale="log", xlabel="columns kept", ylabel="accuracy, three folds", ylim=(0.88, 1.0))
right.set_xticks(SIZES, [str(size) for size in SIZES])
right.minorticks_off()
plt.show()
