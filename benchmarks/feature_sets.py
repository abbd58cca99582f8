"""Few columns on six measured sets: error and number of columns, ten splits; an SVM after the selection; GMKL too.

python benchmarks/feature_sets.py --data FOLDER [--splits 10] [--sets sonar,...] [--methods best,one_se,gmkl,squares]
FOLDER has the collections that `rarefy.datasets.load` reads. See README.md in this folder.
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

RESULTS = Path(__file__).parent / "results"
SETS = ("sonar", "ionosphere", "saheart", "wdbc", "australian", "german_numeric24")
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
METHODS = {
    "best": {},
    "one_se": {"selection": "one_se"},
    "squares": {"penalties": ("squares",)},
    "gmkl": {"estimator": KernelFeatureSelector(method="gmkl", tol=1e-2)},
}


def svm_error(X, y, X_test, y_test, columns, folds):
    """The error of an SVM on some of the columns, its parameters by cross-validation."""
    if not len(columns):
        return 100.0 * float(np.mean(y_test != np.unique(y)[np.argmax(np.unique(y, return_counts=True)[1])]))
    model = GridSearchCV(make_pipeline(StandardScaler(), SVC()), GRID, cv=folds).fit(X[:, columns], y)
    return 100.0 * (1.0 - model.score(X_test[:, columns], y_test))


def one_split(X, y, method, split):
    X, X_test, y, y_test = train_test_split(X, y, test_size=1 / 3, stratify=y, random_state=split)
    folds = StratifiedKFold(5, shuffle=True, random_state=split)
    start = time.process_time()
    model = KernelFeatureSelectorCV(cv=folds, **METHODS[method]).fit(X, y)
    seconds = time.process_time() - start
    return {
        "error": 100.0 * (1.0 - model.score(X_test, y_test)),
        "features": int(model.support_.sum()),
        "svm after": svm_error(X, y, X_test, y_test, model.get_support(indices=True), folds),
        "svm on all": svm_error(X, y, X_test, y_test, np.arange(X.shape[1]), folds),
        "promised": 100.0 * (1.0 - model.held_out_score_),
        "seconds": seconds,
        "chosen": [model.C_, model.mu_, model.prune_],
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", required=True)
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--methods", default="best,one_se,gmkl")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    results = {}
    for name in options.sets.split(","):
        found = load(name, options.data)
        X, y = found.data.astype(float), found.target
        for method in options.methods.split(","):
            rows = [one_split(X, y, method, split) for split in range(options.splits)]
            mean = {key: float(np.mean([row[key] for row in rows])) for key in rows[0] if key != "chosen"}
            error = float(np.std([row["error"] for row in rows], ddof=1) / np.sqrt(len(rows))) if len(rows) > 1 else 0.0
            results[f"{name}, {method}"] = {"mean": mean, "standard error": error, "splits": rows}
            print(
                f"{name:18s} {method:8s} error {mean['error']:5.1f} ± {error:.1f} % with {mean['features']:4.1f} "
                f"columns (thesis {THESIS.get(name)}), SVM after {mean['svm after']:5.1f}, SVM on all "
                f"{mean['svm on all']:5.1f}, "
                f"folds promised {mean['promised']:5.1f}, {mean['seconds']:.1f} s",
                flush=True,
            )
            RESULTS.mkdir(exist_ok=True)
            (RESULTS / "feature_sets.json").write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
