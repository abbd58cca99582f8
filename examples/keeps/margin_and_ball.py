"""
Margin, ball, and what they become in fewer columns
===================================================

A hard-margin SVM is half the shortest segment between two convex hulls; the smallest ball around all samples says how
large the data are. Radius over margin is what enters generalisation bounds, and what a certificate of kind
"deterministic" bounds for every labelling. Here both are computed and drawn, in the two leading directions of wine
samples, and followed as columns are left out.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import rarefy
from rarefy.selection import BSSSelector

X, y = load_wine(return_X_y=True)
X, y = StandardScaler().fit_transform(X)[y != 1], y[y != 1]
flat = PCA(2).fit_transform(X)
ball, margin2 = rarefy.minimum_enclosing_ball(flat), rarefy.hard_margin2(flat, y)
print(f"in two dimensions: radius {np.sqrt(ball.radius2):.2f}, margin {np.sqrt(margin2):.2f}")

# %%
# In the kept columns the squared margin is at least the certified share of what it was. With these labels it is more:
# the certificate speaks of the worst labels.

sizes, rows = (14, 26, 40), np.random.default_rng(0).choice(len(X), 12, replace=False)
wide = np.hstack([X, X[:, :1] * X, X[:, 1:2] * X, X[:, 6:7] * X])[np.sort(rows)]  # with products, more than rows
labels = y[np.sort(rows)]
before = rarefy.hard_margin2(wide, labels), rarefy.minimum_enclosing_ball(wide).radius2
kept, promised = [], []
for r in sizes:
    selector = BSSSelector(r).fit(wide)
    after = rarefy.hard_margin2(selector.transform(wide), labels)
    kept.append(after / before[0])
    promised.append(selector.certificate_.margin_floor)
    print(f"{r} of {wide.shape[1]} columns: squared margin {kept[-1]:.2f} of what it was, at least {promised[-1]:.2f}")

# %%

svm = SVC(kernel="linear", C=1e6).fit(flat, y)
centre, w = ball.weights @ flat, svm.coef_[0]
figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 4.4), layout="constrained")
left.scatter(*flat.T, c=np.where(y == 0, "#3d6fa3", "#c8553d"), s=14)
left.add_patch(plt.Circle(centre, np.sqrt(ball.radius2), fill=False, color="0.5"))
along = np.array(left.get_xlim())
for shift, style in ((-1, ":"), (0, "-"), (1, ":")):
    left.plot(along, -(w[0] * along + svm.intercept_[0] + shift) / w[1], "k" + style, linewidth=1)
left.set(aspect="equal", title="the margin and the smallest ball", xlim=(-6, 6), ylim=(-5, 6))
right.plot(sizes, kept, "o-", label="these labels")
right.plot(sizes, promised, "s--", label="any labels, at least")
right.set(xlabel="columns kept", ylabel="share of the squared margin", ylim=(0, None), xticks=sizes)
right.legend(frameon=False)
plt.show()
