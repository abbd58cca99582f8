"""Fraud among payments: ranking the rare class, with ROC and precision-recall curves.

Two kinds of fraud hide among 20 000 payments, 0.5 % in all. RankRC, which looks at pairs and uses kernel functions of
the rare payments only, is set beside an SVM with balanced class weights and logistic regression. Writes
find_the_rare_class.png.
"""

import sys
import time

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import PrecisionRecallDisplay, RocCurveDisplay, average_precision_score, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from rarefy.ranking import RankRC


def payments(n, n_fraud, rng):
    """Log amount, hour, log distance, payments in the hour before; fraud is large at night, or frequent and far."""
    X = np.column_stack([rng.normal(3, 1, n), rng.uniform(0, 24, n), rng.normal(2, 1, n), rng.poisson(1, n)])
    y = np.zeros(n, dtype=int)
    y[:n_fraud] = 1
    night, far = np.arange(n_fraud // 2), np.arange(n_fraud // 2, n_fraud)
    X[night, 0], X[night, 1] = rng.normal(5, 0.5, len(night)), rng.normal(3, 1, len(night)) % 24
    X[far, 2], X[far, 3] = rng.normal(4, 0.5, len(far)), 2 + rng.poisson(2, len(far))
    return X, y


def main(n=20_000, file="find_the_rare_class.png"):
    rng = np.random.default_rng(0)
    X, y = payments(n, n // 200, rng)
    Z, z = payments(n, n // 200, rng)
    models = {
        "RankRC": RankRC(1e-4, random_state=0),
        "SVC, balanced": SVC(class_weight="balanced", C=10.0, gamma="scale", cache_size=500),
        "logistic regression": LogisticRegression(class_weight="balanced"),
    }
    curves = {}
    print(f"{'':20s}  seconds   area   average precision   fraud among the top {z.sum()}")
    for name, model in models.items():
        start = time.perf_counter()
        fitted = make_pipeline(StandardScaler(), model).fit(X, y)
        seconds = time.perf_counter() - start
        scores = curves[name] = fitted.decision_function(Z)
        top = int(z[np.argsort(-scores)[: z.sum()]].sum())
        area, precision = roc_auc_score(z, scores), average_precision_score(z, scores)
        print(f"{name:20s}  {seconds:7.1f}  {area:.4f}  {precision:18.3f}  {top:12d}")
    draw(z, curves, file)


def draw(z, curves, file):
    """Both curves, side by side."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.5), layout="constrained")
    for name, scores in curves.items():
        RocCurveDisplay.from_predictions(z, scores, name=name, ax=left)
        PrecisionRecallDisplay.from_predictions(z, scores, name=name, ax=right)
    left.set(title="Of all fraud, how much is found", xlim=(0, 0.2))
    right.set(title="Of what is called fraud, how much is")
    figure.savefig(file, dpi=110)
    plt.close(figure)


if __name__ == "__main__":
    main(*[int(argument) for argument in sys.argv[1:2]])
