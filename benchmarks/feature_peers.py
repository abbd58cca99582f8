"""Which selectors find columns that matter only together: ours and peers on problems whose right columns are known.

Peers get the number of right columns; `KernelFeatureSelector` and `KernelFeatureSelectorCV` do not. Counted are runs in
which the right columns are found and at most one wrong one. Boruta, HSIC-Lasso and LassoNet take part if installed.

python benchmarks/feature_peers.py [--seeds 5]
"""

import argparse
import io
import json
import sys
import time
import warnings
from contextlib import redirect_stdout
from pathlib import Path

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import SequentialFeatureSelector, mutual_info_classif
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from trials.features import PROBLEMS  # noqa: E402

from rarefy.kernel import KernelFeatureSelector, KernelFeatureSelectorCV  # noqa: E402
from rarefy.selection import ReliefSelector  # noqa: E402

RESULTS = Path(__file__).parent / "results"


def _largest(scores, k):
    return np.argsort(-np.asarray(scores), kind="stable")[:k]


def _forest(X, y, k):
    return _largest(RandomForestClassifier(500, random_state=0).fit(X, y).feature_importances_, k)


def _information(X, y, k):
    return _largest(mutual_info_classif(X, y, random_state=0), k)


def _relief(X, y, k):
    return _largest(ReliefSelector(k).fit(X, y).scores_, k)


def _logistic(X, y, k):
    model = LogisticRegression(penalty="l1", solver="liblinear", C=1.0).fit(X, y)
    return _largest(np.abs(model.coef_[0]), k)


def _forward(X, y, k):
    return SequentialFeatureSelector(SVC(), n_features_to_select=k, cv=3).fit(X, y).get_support(indices=True)


def _gmkl(X, y, k):
    options = {"validation_fraction": None, "prune": 0.0, "init": "ones", "tol": 1e-2}
    return _largest(KernelFeatureSelector(1.0, 1.0, method="gmkl", **options).fit(X, y).feature_weights_, k)


def _hsic(X, y, k):
    from pyHSICLasso import HSICLasso

    with redirect_stdout(io.StringIO()):
        model = HSICLasso()
        model.input(X, y.astype(int), featname=[str(j) for j in range(X.shape[1])])
        model.classification(k, B=0, M=1)
    return np.array(model.get_index())


def _boruta(X, y, k):
    from boruta import BorutaPy

    forest = RandomForestClassifier(n_jobs=1, max_depth=5, random_state=0)
    return np.flatnonzero(BorutaPy(forest, n_estimators=200, random_state=0).fit(X, y.astype(int)).support_)


def _lassonet(X, y, k):
    from lassonet import LassoNetClassifier

    model = LassoNetClassifier(hidden_dims=(50,), random_state=0, verbose=False)
    path = model.path(X.astype(np.float32), y.astype(int))
    counts = np.array([int(one.selected.sum()) for one in path])
    return np.flatnonzero(path[int(np.abs(counts - k).argmin())].selected.numpy())


WAYS = {
    "KernelFeatureSelector": lambda X, y, k: KernelFeatureSelector().fit(X, y).get_support(indices=True),
    "KernelFeatureSelectorCV": lambda X, y, k: KernelFeatureSelectorCV().fit(X, y).get_support(indices=True),
    "random forest": _forest,
    "mutual information": _information,
    "Relief": _relief,
    "l1 logistic": _logistic,
    "forward selection": _forward,
    "GMKL": _gmkl,
    "Boruta": _boruta,
    "HSIC-Lasso": _hsic,
    "LassoNet": _lassonet,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--ways", default=",".join(WAYS))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    results = {}
    for name, make in PROBLEMS.items():
        if name.startswith("noise"):
            continue
        for way in (one for one in WAYS if one in options.ways.split(",")):
            found, seconds = [], []
            try:
                for seed in range(options.seeds):
                    X, y, right = make(seed)
                    X = StandardScaler().fit_transform(X)
                    start = time.process_time()
                    chosen = WAYS[way](X, y, len(right))
                    seconds.append(time.process_time() - start)
                    found.append((len(np.intersect1d(chosen, right)), len(np.setdiff1d(chosen, right))))
            except ModuleNotFoundError:
                continue
            good = sum(a == len(right) and b <= 1 for a, b in found)
            mean = np.mean(found, axis=0)
            results[f"{name} | {way}"] = {"good": good, "right": mean[0], "wrong": mean[1], "seconds": np.mean(seconds)}
            print(
                f"{name} | {way}: {good} of {options.seeds}, {mean[0]:.1f} of {len(right)} right and {mean[1]:.1f} "
                f"wrong, {np.mean(seconds):.1f} s",
                flush=True,
            )
            RESULTS.mkdir(exist_ok=True)
            (RESULTS / "feature_peers.json").write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
