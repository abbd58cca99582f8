"""Few columns on six measured sets: error and columns in ten splits, beside GMKL and SVMs on kept and on all columns.

python benchmarks/feature_sets.py --data FOLDER [--splits 10] [--sets sonar,...] [--methods best,paths,...]
FOLDER has the collections that `rarefy.datasets.load` reads. Each cell is kept in results/feature_sets/, not measured
again; --table only writes what is there. See README.md in this folder.
"""

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from rarefy.datasets import load
from rarefy.kernel import KernelFeatureSelector, KernelFeatureSelectorCV

RESULTS = Path(__file__).parent / "results" / "feature_sets"
THESIS = {
    "sonar": (14.9, 12.3),
    "ionosphere": (5.3, 7.4),
    "saheart": (28.7, 3.8),
    "wdbc": (3.8, 4.5),
    "australian": (13.0, 7.0),
    "german_numeric24": (23.4, 9.8),
}
"""Error in % and number of features of Margin AO-II in Table 7.4."""
GRID = {"svc__C": 4.0 ** np.arange(-1, 5), "svc__gamma": 4.0 ** np.arange(-5, 2)}
PATHS = {"paths": 0.2, "unpruned": 0.0}
"""Shares of the largest weight below which columns are dropped on the paths."""
METHODS = {
    "best": {},
    "one_se": {"selection": "one_se"},
    "squares": {"penalties": ("squares",)},
    "gmkl": {"estimator": KernelFeatureSelector(method="gmkl", tol=1e-2)},
}


def svm_error(parts, columns, folds):
    """The error of an SVM on some of the columns, its parameters by cross-validation."""
    X, X_test, y, y_test = parts
    if not len(columns):
        return 100.0 * float(np.mean(y_test != np.unique(y)[np.argmax(np.unique(y, return_counts=True)[1])]))
    model = GridSearchCV(make_pipeline(StandardScaler(), SVC()), GRID, cv=folds).fit(X[:, columns], y)
    return 100.0 * (1.0 - model.score(X_test[:, columns], y_test))


def chosen(parts, folds, method):
    """What the class with cross-validation takes, and an SVM on the columns that it keeps."""
    X, X_test, y, y_test = parts
    start = time.process_time()
    model = KernelFeatureSelectorCV(cv=folds, **METHODS[method]).fit(X, y)
    seconds = time.process_time() - start
    return {
        "error": 100.0 * (1.0 - model.score(X_test, y_test)),
        "features": int(model.support_.sum()),
        "svm after": svm_error(parts, model.get_support(indices=True), folds),
        "promised": 100.0 * (1.0 - model.held_out_score_),
        "seconds": seconds,
        "chosen": [model.C_, model.mu_, model.prune_],
    }


def paths(parts, share):
    """Error on the test rows and number of columns of every combination that the default grid has."""
    X, X_test, y, y_test = parts
    standard = KernelFeatureSelector(validation_fraction=None).fit(X, y)
    factors = np.array([1 / 64, 1 / 16, 1 / 4, 1 / 2, 1.0, 2.0])
    found = []
    for C in 4.0 ** np.arange(-2, 3):
        path = KernelFeatureSelector(C, validation_fraction=None, prune=share).mu_path(X, y, factors * standard.mu_ * C)
        error = 100.0 * (path.predict(X_test) != y_test).mean(axis=1)
        counts = path.attribute("support_").sum(axis=1)
        found += [[C, f, share, int(n), float(e)] for f, n, e in zip(factors, counts, error, strict=True)]
    return {"cells": found}


def one_split(name, data, method, split):
    found = load(name, data)
    X, y = found.data.astype(float), found.target
    parts = train_test_split(X, y, test_size=1 / 3, stratify=y, random_state=split)
    folds = StratifiedKFold(5, shuffle=True, random_state=split)
    if method == "svm":
        return {"error": svm_error(parts, np.arange(X.shape[1]), folds), "features": X.shape[1]}
    return paths(parts, PATHS[method]) if method in PATHS else chosen(parts, folds, method)


def madelon(data):
    """The first call on the training rows, and an SVM on the columns that it keeps, tuned in five folds of them."""
    found = load("madelon", data)
    parts = found.data.astype(float), found.test_data.astype(float), found.target, found.test_target
    X, X_test, y, y_test = parts
    start = time.process_time()
    model = KernelFeatureSelector(validation_fraction=None).fit(X, y)
    columns = model.get_support(indices=True)
    print(f"first call: {100.0 * (1.0 - model.score(X_test, y_test)):.2f} %, columns {columns.tolist()}")
    after = svm_error(parts, columns, StratifiedKFold(5, shuffle=True, random_state=0))
    print(f"SVM on these: {after:.2f} %, {time.process_time() - start:.0f} s in all")


def stored(name, method):
    """The cells that were measured, by split."""
    files = sorted(RESULTS.glob(f"{name}--{method}--*.json"))
    return {int(file.stem.split("--")[2]): json.loads(file.read_text()) for file in files}


def mean(values):
    """Mean and standard error."""
    values = np.asarray(values, dtype=float)
    return values.mean(), values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan


def write_table(sets):
    for name in sets:
        error, features = THESIS[name]
        print(f"{name}: thesis {error} % with {features} columns (1.25 times: {1.25 * features:.1f})")
        for method in METHODS:
            rows = list(stored(name, method).values())
            if rows:
                print(f"  {method}: {len(rows)} splits, " + described(rows))
        whole = [row["error"] for row in stored(name, "svm").values()]
        if whole:
            print(f"  svm on all columns: {len(whole)} splits, error {mean(whole)[0]:.1f} ± {mean(whole)[1]:.1f} %")
        known = [stored(name, kind) for kind in PATHS]
        known = [one for one in known if one]
        splits = sorted(set.intersection(*map(set, known))) if known else []
        if splits:
            along = np.array([[cell for one in known for cell in one[k]["cells"]] for k in splits])
            write_paths(along, 1.25 * features)


def described(rows):
    keys = {
        "error": "error",
        "features": "columns",
        "svm after": "SVM on these",
        "promised": "promised",
        "seconds": "s",
    }
    return ", ".join(
        f"{word} {mean([row[k] for row in rows])[0]:.1f} ± {mean([row[k] for row in rows])[1]:.1f}"
        for k, word in keys.items()
    )


def write_paths(along, most):
    """The best that could have been chosen when the test rows are known: of all splits, of each, of the others."""
    for label, limit in (("any number of columns", np.inf), ("at most 1.25 times the thesis's", most)):
        counts, errors = along[..., 3], along[..., 4]
        k = best_cell(along, limit)
        C, factor, share = along[0, k, :3]
        own = np.where(counts <= limit, errors, np.inf).min(axis=1)
        print(
            f"  paths, {label}, {len(along)} splits: the best one of all splits {errors[:, k].mean():.1f} ± "
            f"{mean(errors[:, k])[1]:.1f} % with {counts[:, k].mean():.1f} columns (C={C:g}, "
            f"mu={factor:g} of the automatic, prune={share:g}); the best of each split "
            f"{own.mean():.1f} %; the best of the other splits {by_the_others(along, limit).mean():.1f} %"
        )


def best_cell(along, limit):
    """The combination with the lowest mean error of those with few enough columns."""
    allowed = along[..., 3].mean(axis=0) <= limit
    return np.flatnonzero(allowed)[np.argmin(along[..., 4].mean(axis=0)[allowed])]


def by_the_others(along, limit):
    """In each split the error of the combination that is the best one of the other splits."""
    rest = [np.delete(along, i, axis=0) for i in range(len(along))]
    return np.array([along[i, best_cell(rest[i], limit), 4] for i in range(len(along)) if len(rest[i])])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", required=True)
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--sets", default=",".join(THESIS))
    parser.add_argument("--methods", default="best,paths,unpruned,svm,gmkl")
    parser.add_argument("--table", action="store_true", help="measure nothing")
    parser.add_argument("--madelon", action="store_true", help="measure Madelon and nothing else")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.madelon:
        madelon(options.data)
        return
    RESULTS.mkdir(parents=True, exist_ok=True)
    sets = options.sets.split(",")
    for split in () if options.table else range(options.splits):
        for method in options.methods.split(","):
            for name in sets:
                file = RESULTS / f"{name}--{method}--{split}.json"
                if not file.exists():
                    file.write_text(json.dumps(one_split(name, options.data, method, split)))
                    print(file.stem, file.read_text()[:200], flush=True)
    write_table(sets)


if __name__ == "__main__":
    main()
