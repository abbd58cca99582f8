"""What finds a rare class: RankRC beside boosted trees, a balanced forest, SVC, a Nystroem map and an isolation forest.

RAREFY_DATA has to name the folder with rare/ and large/. All methods get the same folds and standardised columns, run
with one thread and with their defaults but for what their names say. Each cell (a data set and a method) is kept in
results/rare_class_peers/ as soon as it is measured and is not measured again, except by --again. At the end tables and
a picture are written from all the cells there are. See README.md in this folder.
"""

import argparse
import json
import os
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import sklearn
from sklearn.ensemble import HistGradientBoostingClassifier, IsolationForest
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

import rarefy
from rarefy.ranking import RankRC, RankRCCV

HERE = Path(__file__).parent
CELLS = HERE / "results" / "rare_class_peers"
PICTURE = HERE.parent / "docs" / "_static" / "rare_class_peers.png"
LARGE = {
    "adbench_cover": "adbench_cover",
    "adbench_http": "adbench_http",
    "kddcup99_10pct": "kddcup99_10pct",
    "kddcup99_known": "kddcup99_10pct",
}
"""Large data sets and their files. "known" is about the test rows whose type of attack occurs in the training file."""
ALARMS = 0.01
"""Share of the cases that someone has the time to look at."""


@dataclass(frozen=True)
class Method:
    """A contestant."""

    title: str
    make: Callable
    most_rows: int | None = None
    """Training rows at most: beyond, a fit would take more than about two minutes. All rare rows stay."""


def _lightgbm(**settings):
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_jobs=1, random_state=0, verbose=-1, **settings)


def _balanced_forest():
    from imblearn.ensemble import BalancedRandomForestClassifier

    return BalancedRandomForestClassifier(n_jobs=1, random_state=0)


def _nystroem():
    return make_pipeline(
        Nystroem(n_components=300, random_state=0), LogisticRegression(class_weight="balanced", max_iter=1000)
    )


METHODS = {
    "rankrc": Method("RankRC", lambda: RankRC(random_state=0)),
    "rankrc-rare": Method('RankRC(basis="rare")', lambda: RankRC(basis="rare", random_state=0)),
    "rankrc-cv": Method("RankRCCV", lambda: RankRCCV(RankRC(random_state=0)), 10_000),
    "lightgbm": Method("LightGBM", _lightgbm),
    # The ratio of the two classes' weights is that of `is_unbalance`, but their mean is 1: with `is_unbalance`, as
    # without weights, the fit to adbench_http diverges (scores of some millions).
    "lightgbm-balanced": Method("LightGBM, balanced", lambda: _lightgbm(class_weight="balanced")),
    "hist-boosting": Method(
        "HistGradientBoosting, balanced",
        lambda: HistGradientBoostingClassifier(class_weight="balanced", random_state=0),
    ),
    "balanced-forest": Method("BalancedRandomForest", _balanced_forest),
    "svc": Method("SVC, balanced", lambda: SVC(class_weight="balanced", cache_size=1000), 20_000),
    "nystroem": Method("Nystroem + logistic, balanced", _nystroem),
    "isolation-forest": Method("IsolationForest (no labels)", lambda: IsolationForest(n_jobs=1, random_state=0)),
}


def folder():
    if "RAREFY_DATA" not in os.environ:
        raise SystemExit("RAREFY_DATA has to name the folder with rare/ and large/.")
    return Path(os.environ["RAREFY_DATA"])


def names():
    """The data sets that are there: small ones first."""
    small = sorted(path.stem for path in (folder() / "rare").glob("*.npz"))
    large = [name for name, file in LARGE.items() if (folder() / "large" / f"{file}.npz").is_file()]
    for name in sorted({*LARGE} - {*large}):
        print(f"{LARGE[name]}.npz is not there; {name} is skipped")
    return small + large


@cache
def splits(name):
    """Training and test parts (X, y, Z, z) of a data set, columns standardised by the training part."""
    if name.startswith("kddcup99"):
        return [standardised(*connections(name == "kddcup99_known"))]
    with np.load(folder() / ("large" if name in LARGE else "rare") / f"{name}.npz", allow_pickle=False) as stored:
        X, y = stored["X"].astype(float), stored["y"].astype(int)
    if name in LARGE:
        folds = StratifiedShuffleSplit(1, test_size=1 / 3, random_state=0)
    else:
        folds = StratifiedKFold(3, shuffle=True, random_state=0)
    return [standardised(X[a], y[a], X[b], y[b]) for a, b in folds.split(X, y)]


def connections(known_types):
    """KDD Cup 1999, remote-to-local and user-to-root attacks against the rest, duplicates removed for training."""
    with np.load(folder() / "large" / "kddcup99_10pct.npz", allow_pickle=False) as stored:
        X, y, Z, z = (stored[key].astype(float) for key in ("X_train", "y_train", "X_test", "y_test"))
        known = np.isin(stored["attack_test"], stored["attack_train"])
    if known_types:
        Z, z = Z[known], z[known]
    distinct = np.unique(np.column_stack([X, y]), axis=0)
    X, y = distinct[:, :-1], distinct[:, -1]
    coded = [1, 2, 3]
    levels = [np.unique(np.append(X[:, c], Z[:, c])) for c in coded]

    def indicators(X):
        codes = [X[:, [c]] == level for c, level in zip(coded, levels, strict=True)]
        return np.hstack([np.delete(X, coded, axis=1), *codes])

    return indicators(X), (y >= 3).astype(int), indicators(Z), (z >= 3).astype(int)


def standardised(X, y, Z, z):
    scaler = StandardScaler().fit(X)
    return scaler.transform(X), y, scaler.transform(Z), z


def cut(X, y, most_rows):
    """All rare rows and random others, as many as are allowed."""
    if most_rows is None or len(y) <= most_rows:
        return X, y
    rare, others = np.flatnonzero(y == 1), np.flatnonzero(y == 0)
    kept = np.random.default_rng(0).choice(others, most_rows - len(rare), replace=False)
    rows = np.sort(np.append(rare, kept))
    return X[rows], y[rows]


def scores_of(model, X):
    """Larger for rarer cases (1 is the rare class everywhere)."""
    if isinstance(model, IsolationForest):
        return -model.score_samples(X)
    return model.decision_function(X) if hasattr(model, "decision_function") else model.predict_proba(X)[:, 1]


def recall_of_top(y, scores, share=ALARMS):
    """Share of the rare cases among the highest scores; of cases that tie at the cut, the expected number."""
    n = int(np.ceil(share * len(y)))
    lowest = np.partition(scores, -n)[-n]
    above, tied = scores > lowest, scores == lowest
    found = y[above].sum() + (n - above.sum()) * y[tied].mean()
    return float(found / y.sum())


def measure(name, method):
    """One cell."""
    folds = []
    for X, y, Z, z in splits(name):
        A, a = cut(X, y, method.most_rows)
        model = method.make()
        start = time.process_time()
        model.fit(A, a)
        seconds = time.process_time() - start
        scores = scores_of(model, Z)
        folds.append(
            {
                "tested": len(z),
                "auc": float(roc_auc_score(z, scores)),
                "ap": float(average_precision_score(z, scores)),
                "recall": recall_of_top(z, scores),
                "seconds": seconds,
                "rows": len(a),
                "of": len(y),
                "rare": int(a.sum()),
            }
        )
        if hasattr(model, "alpha_"):
            folds[-1]["alpha"] = float(model.alpha_)
    return {"data": name, "method": method.title, "folds": folds, "versions": versions()}


def versions():
    found = {"rarefy": rarefy.__version__, "scikit-learn": sklearn.__version__, "numpy": np.__version__}
    for module in ("lightgbm", "imblearn"):
        if module in sys.modules:
            found[module] = sys.modules[module].__version__
    return found


def place(name, key):
    return CELLS / f"{name}--{key}.json"


def run(data, keys, again):
    """Measure the cells that are missing, and those of the methods in `again`."""
    CELLS.mkdir(parents=True, exist_ok=True)
    for name in data:
        for key in keys:
            path = place(name, key)
            if path.is_file() and key not in again:
                continue
            try:
                with threadpool_limits(1), warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always")
                    cell = measure(name, METHODS[key])
            except ModuleNotFoundError as error:
                print(f"{METHODS[key].title}: {error.name} is not installed; skipped")
                continue
            cell["warnings"] = sorted({str(warning.message).splitlines()[0] for warning in caught})
            # Under another name first: an interrupted run leaves no half of a file behind.
            written = path.with_suffix(".part")
            written.write_text(json.dumps(cell, indent=1) + "\n", encoding="utf-8")
            written.replace(path)
            print(f"{name:16} {METHODS[key].title:32} {summary(Row.of(cell))}", flush=True)
        splits.cache_clear()


@dataclass(frozen=True)
class Row:
    """Means of a cell over its folds, or of several cells."""

    auc: float
    ap: float
    recall: float
    seconds: float
    trained: str = ""
    """Rows of the training part that were used, where not all of them were."""

    @classmethod
    def of(cls, cell):
        means = {key: float(np.mean([fold[key] for fold in cell["folds"]])) for key in METRICS}
        first = cell["folds"][0]
        return cls(**means, trained="" if first["rows"] == first["of"] else f"{first['rows']} of {first['of']} rows")

    @classmethod
    def mean(cls, rows):
        return cls(**{key: float(np.mean([getattr(row, key) for row in rows])) for key in METRICS})


METRICS = ("auc", "ap", "recall", "seconds")


def summary(row):
    text = f"AUC {row.auc:.3f}  AP {row.ap:.3f}  recall {row.recall:.3f}  {seconds_text(row.seconds)} s"
    return f"{text}  (trained on {row.trained})" if row.trained else text


def seconds_text(seconds):
    return f"{seconds:.2f}" if seconds < 1 else f"{seconds:.1f}" if seconds < 10 else f"{seconds:.0f}"


def stored(data):
    """The cells there are: {data set: {method: Row}}."""
    found = {}
    for name in data:
        cells = {key: place(name, key) for key in METHODS}
        found[name] = {
            key: Row.of(json.loads(path.read_text(encoding="utf-8"))) for key, path in cells.items() if path.is_file()
        }
    return {name: cells for name, cells in found.items() if cells}


def complete(results):
    """Methods that were measured on every one of these data sets: only their means compare."""
    return [key for key in METHODS if results and all(key in cells for cells in results.values())]


def list_table(title, header, rows):
    """A table in reStructuredText."""
    lines = [f".. list-table:: {title}", "   :header-rows: 1", ""]
    for row in [header, *rows]:
        lines += [f"   {'*' if i == 0 else ' '} - {cell}" for i, cell in enumerate(row)]
    return "\n".join(lines) + "\n"


def limit(key):
    """What a row of the table of large data sets has to say of a method that was not trained on all rows."""
    most_rows = METHODS[key].most_rows
    return "" if most_rows is None else f", trained on {most_rows:_} rows".replace("_", " ")


def figures(row):
    return [f"{row.auc:.3f}", f"{row.ap:.3f}", f"{row.recall:.3f}", seconds_text(row.seconds)]


def tables(small, large):
    """Means over the small data sets, the large ones, and average precision and AUC of every small one."""
    header = ["AUC", "average precision", "recall at 1 % alarms", "seconds"]
    keys = complete(small)
    means = {key: Row.mean([cells[key] for cells in small.values()]) for key in keys}
    rows = [[METHODS[key].title, *figures(means[key])] for key in keys]
    parts = [list_table(f"Mean over {len(small)} data sets", ["method", *header], rows)]
    rows = [
        [
            METHODS[key].title + limit(key),
            *(" / ".join(figures(cells[key])) if key in cells else "–" for cells in large.values()),
        ]
        for key in METHODS
    ]
    parts.append(list_table("AUC / average precision / recall at 1 % alarms / seconds", ["method", *large], rows))
    for metric in ("auc", "ap", "recall"):
        rows = [[name, *(f"{getattr(cells[key], metric):.3f}" for key in keys)] for name, cells in small.items()]
        parts.append(list_table(metric, ["data", *(METHODS[key].title for key in keys)], rows))
    return "\n".join(parts)


def draw(results, path):
    """How far a method is from the best one of each data set, and its seconds; a dot is a data set."""
    from matplotlib.figure import Figure

    keys = complete(results)
    keys.sort(key=lambda key: -np.mean([cells[key].ap for cells in results.values()]))
    figure = Figure(figsize=(10.5, 5), layout="constrained")
    axes = figure.subplots(1, 3, sharey=True, width_ratios=(1, 1, 0.8))
    for ax, metric in zip(axes, PANELS, strict=True):
        values = np.array([[getattr(cells[key], metric) for key in keys] for cells in results.values()])
        panel(ax, keys, values, metric)
    axes[0].set_yticks(range(len(keys)), [METHODS[key].title for key in keys])
    axes[0].set_ylim(len(keys) - 0.3, -0.6)
    figure.savefig(path, dpi=110)


PANELS = {"auc": ("AUC", -0.16), "ap": ("average precision", -0.45), "seconds": ("seconds", None)}
"""Titles, and where the axis begins: an isolation forest, which sees no labels, is mostly beyond it."""


def panel(ax, keys, values, metric):
    title, first = PANELS[metric]
    if first is None:
        shown, marks = values, np.exp(np.log(values).mean(axis=0))
        ax.set(xscale="log", xlabel="of a fit, one thread")
        texts = [seconds_text(mean) for mean in marks]
        ax.set_title("geometric mean", loc="right", fontsize=9)
    else:
        shown = values - values.max(axis=1, keepdims=True)
        marks = shown.mean(axis=0)
        ax.set(xlim=(first, -0.03 * first), xlabel="below the best method of the data set")
        texts = [f"{mean:.3f}" for mean in values.mean(axis=0)]
        ax.set_title("mean", loc="right", fontsize=9)
    ax.set_title(title, loc="left", fontsize=11)
    for i, key in enumerate(keys):
        color = "#c8501e" if key.startswith("rankrc") else "#3b6ea5"
        heights = i + np.linspace(-0.24, 0.24, len(values))
        seen = shown[:, i] >= -np.inf if first is None else shown[:, i] >= first
        ax.scatter(shown[seen, i], heights[seen], s=16, color=color, alpha=0.65, linewidths=0)
        if not seen.all():
            note = f"◂ {np.count_nonzero(~seen)} further left"
            ax.text(0.02, i + 0.5, note, transform=ax.get_yaxis_transform(), va="center", fontsize=8, color=color)
        else:
            ax.plot([marks[i]] * 2, [i - 0.36, i + 0.36], color="black", linewidth=2)
        ax.text(1.02, i, texts[i], transform=ax.get_yaxis_transform(), va="center", fontsize=9)
    ax.grid(axis="x", color="0.9")
    ax.set_axisbelow(True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--again", default="", help=f"methods to measure again, with commas: {', '.join(METHODS)}")
    parser.add_argument("--methods", default=",".join(METHODS), help="methods to measure, with commas")
    parser.add_argument("--only", default="", help="data sets to measure, with commas")
    parser.add_argument("--tables", action="store_true", help="measure nothing")
    parser.add_argument("--picture", type=Path, default=PICTURE)
    options = parser.parse_args()
    again, keys = ([key for key in text.split(",") if key] for text in (options.again, options.methods))
    unknown = {*again, *keys} - {*METHODS}
    if unknown:
        parser.error(f"no such method: {', '.join(sorted(unknown))}; there are {', '.join(METHODS)}")
    data = names()
    if not options.tables:
        run(options.only.split(",") if options.only else data, keys, again)
    results = stored(data)
    small = {name: cells for name, cells in results.items() if name not in LARGE}
    text = tables(small, {name: cells for name, cells in results.items() if name in LARGE})
    (CELLS / "tables.rst").write_text(text, encoding="utf-8")
    print(text)
    if complete(small):
        draw(small, options.picture)


if __name__ == "__main__":
    main()
