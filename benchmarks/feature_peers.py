"""Which selectors find columns that matter only together: ours and peers on problems whose right columns are known.

Peers get the number of right columns, except Boruta and "GMKL by itself"; `KernelFeatureSelector` and
`KernelFeatureSelectorCV` do not. Counted are runs in which the right columns are found and at most one wrong one.
Boruta, HSIC-Lasso, LassoNet and xRFM take part if installed. A run is kept in results/feature_peers/, not repeated.

python benchmarks/feature_peers.py [--seeds 10] [--ways Relief,...] [--table] [--picture FILE]
"""

import argparse
import io
import json
import sys
import time
import warnings
from contextlib import redirect_stdout
from itertools import product
from pathlib import Path

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import SequentialFeatureSelector, mutual_info_classif
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from trials.features import PROBLEMS  # noqa: E402

from rarefy.kernel import KernelFeatureSelector, KernelFeatureSelectorCV  # noqa: E402
from rarefy.selection import ReliefSelector  # noqa: E402

RESULTS = Path(__file__).parent / "results" / "feature_peers"


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
    model = KernelFeatureSelector(1.0, 1.0, method="gmkl", **options).fit(X, y)
    return model.get_support(indices=True) if k is None else _largest(model.feature_weights_, k)


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


def _xrfm(X, y, k):
    """The largest diagonal entries of the average gradient outer product.

    Of three widths, two kernels and the diagonal form, the one that predicts a quarter of the rows best.
    """
    import torch
    from xrfm import xRFM

    torch.set_num_threads(1)
    parts = train_test_split(X, y.astype(int), test_size=0.25, stratify=y, random_state=0)
    X, held, y, y_held = (torch.tensor(part, dtype=torch.float32) for part in parts)
    y, y_held = y.long(), y_held.long()
    learning = {"reg": 1e-3, "iters": 10, "get_agop_best_model": True, "early_stop_rfm": False, "verbose": False}
    forms = ({"kernel": "l2", "diag": False}, {"kernel": "l2", "diag": True}, {"kernel": "lpq", "norm_p": 1.3})
    found = []
    for form, bandwidth in product(forms, (2.5, 5.0, 10.0)):
        parameters = {"model": {"exponent": 1.0, "bandwidth": bandwidth, **form}, "fit": learning}
        model = xRFM(rfm_params=parameters, device="cpu", tuning_metric="accuracy", random_state=0, verbose=False)
        with redirect_stdout(io.StringIO()):
            model.fit(X, y, held, y_held)
        accuracy = float(np.mean(np.asarray(model.predict(held)).ravel() == np.asarray(y_held)))
        (agop,) = model.collect_best_agops()
        found.append((accuracy, np.diag(agop) if agop.ndim == 2 else np.asarray(agop)))
    return _largest(max(found, key=lambda one: one[0])[1], k)


WAYS = {
    "KernelFeatureSelector": lambda X, y, k: KernelFeatureSelector().fit(X, y).get_support(indices=True),
    "KernelFeatureSelectorCV": lambda X, y, k: KernelFeatureSelectorCV().fit(X, y).get_support(indices=True),
    "GMKL": _gmkl,
    "GMKL by itself": lambda X, y, k: _gmkl(X, y, None),
    "Relief": _relief,
    "random forest": _forest,
    "Boruta": _boruta,
    "HSIC-Lasso": _hsic,
    "l1 logistic": _logistic,
    "mutual information": _information,
    "forward selection": _forward,
    "LassoNet": _lassonet,
    "xRFM": _xrfm,
}
KNOWN = [name for name in PROBLEMS if not name.startswith("noise")]
"""Problems that have right columns."""


def runs(way):
    """What was measured of one way: {"problem | seed": [right, wrong, seconds]}."""
    file = RESULTS / f"{way}.json"
    return json.loads(file.read_text()) if file.exists() else {}


def measure(ways, seeds):
    """Everything that is not there yet; a way that is not installed is left out."""
    for seed in range(seeds):
        for way in ways:
            found = runs(way)
            for name in KNOWN:
                if f"{name} | {seed}" not in found:
                    try:
                        found[f"{name} | {seed}"] = one_run(name, way, seed)
                    except ModuleNotFoundError:
                        break
                    (RESULTS / f"{way}.json").write_text(json.dumps(found, indent=1))


def one_run(name, way, seed):
    """How many right and wrong columns, and seconds of processor time."""
    X, y, right = PROBLEMS[name](seed)
    X = StandardScaler().fit_transform(X)
    start = time.process_time()
    chosen = WAYS[way](X, y, len(right))
    seconds = time.process_time() - start
    return [len(np.intersect1d(chosen, right)), len(np.setdiff1d(chosen, right)), seconds]


def summaries():
    """For each way that was measured and each problem: runs, good runs, mean right, mean wrong, mean seconds."""
    found = {}
    for way in WAYS:
        own = runs(way)
        for name in KNOWN:
            rows = np.array([row for at, row in own.items() if at.startswith(f"{name} |")])
            if len(rows):
                wanted = len(PROBLEMS[name](0)[2])
                good = int(np.sum((rows[:, 0] == wanted) & (rows[:, 1] <= 1)))
                found[way, name] = (len(rows), good, *rows.mean(axis=0))
    return found


def draw(found, path):
    """Ways against problems: how often the columns are found, and mean seconds."""
    from matplotlib.figure import Figure

    ways = [way for way in WAYS if any(key[0] == way for key in found)]
    figure = Figure(figsize=(9.6, 0.46 * len(ways) + 0.8), layout="constrained")
    axis = figure.subplots()
    for i, way in enumerate(ways):
        color = "#c8501e" if way.startswith("Kernel") else "#3b6ea5"
        for j, name in enumerate(KNOWN):
            if (way, name) not in found:
                continue
            n, good, _, _, seconds = found[way, name]
            box = {"x": j - 0.46, "width": 0.92, "y": i, "height": 0.86}
            axis.barh(box["y"], box["width"], box["height"], box["x"], color=color, alpha=0.05 + 0.9 * good / n)
            ink = "white" if good > 0.6 * n else "#444444"
            axis.text(j - 0.4, i, f"{good} of {n}", va="center", fontsize=9.5, color=ink)
            axis.text(j + 0.41, i, seconds_text(seconds), va="center", ha="right", fontsize=8, color=ink)
    axis.set_yticks(range(len(ways)), ways, fontsize=10)
    axis.set_xticks(
        range(len(KNOWN)),
        [name.replace("rings", "shells").replace(" in ", "\nin ", 1).replace(", n", "\nn") for name in KNOWN],
        fontsize=9,
    )
    axis.set(xlim=(-0.5, len(KNOWN) - 0.5), ylim=(len(ways) - 0.5, -0.5))
    axis.xaxis.tick_top()
    axis.tick_params(length=0)
    for side in axis.spines.values():
        side.set_visible(False)
    figure.savefig(path, dpi=110)


def seconds_text(value):
    if value < 0.01:
        return f"{max(1, round(1e3 * value))} ms"
    return f"{value:.2f} s" if value < 1 else f"{value:.1f} s" if value < 10 else f"{value:.0f} s"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--ways", default=",".join(WAYS))
    parser.add_argument("--table", action="store_true", help="measure nothing")
    parser.add_argument("--picture", help="where the picture is written")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    RESULTS.mkdir(parents=True, exist_ok=True)
    if not options.table:
        measure([one for one in WAYS if one in options.ways.split(",")], options.seeds)
    found = summaries()
    for (way, name), (n, good, right, wrong, seconds) in found.items():
        print(f"{name} | {way}: {good} of {n}, {right:.1f} right and {wrong:.1f} wrong, {seconds:.2f} s")
    if options.picture:
        draw(found, options.picture)


if __name__ == "__main__":
    main()
