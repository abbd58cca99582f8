"""First calls: SubspaceLPSVC() and SubspaceLPSVCCV() without arguments beside SVC(), on ten sets in three units.

Accuracy in five folds on the columns as they are, times 100, and standardised. Sets that do not come with scikit-learn
are read from the folder that the environment variable RAREFY_DATA names; those that are missing are left out.
"""

import argparse
import json
import os
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from rarefy.kernel import SubspaceLPSVC, SubspaceLPSVCCV

RESULTS = Path(__file__).parent / "results"
BUNDLED = {"digits": load_digits, "wine": load_wine, "breast cancer": load_breast_cancer}
FILES = ("uci/sonar", "uci/ionosphere", "uci/saheart", "uci/australian", "uci/german_numeric24")
FILES += ("rare/vowel0", "rare/page_blocks0")
UNITS = {
    "raw": lambda X: X,
    "times 100": lambda X: 100.0 * X,
    "standardised": lambda X: StandardScaler().fit_transform(X),
}
MODELS = {
    "SVC": SVC,
    "scaler + SVC": lambda: make_pipeline(StandardScaler(), SVC()),
    "SubspaceLPSVC": lambda: SubspaceLPSVC(random_state=0),
    "SubspaceLPSVCCV": lambda: SubspaceLPSVCCV(SubspaceLPSVC(random_state=0)),
}


def sets():
    """Names, samples and classes."""
    for name, load in BUNDLED.items():
        yield name, *load(return_X_y=True)
    for name in FILES:
        path = Path(os.environ.get("RAREFY_DATA", "")) / f"{name}.npz"
        if path.is_file():
            with np.load(path, allow_pickle=False) as stored:
                part = "" if "X" in stored else "_train"
                yield path.stem, np.asarray(stored[f"X{part}"], dtype=float), stored[f"y{part}"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    options = parser.parse_args()
    folds, rows = StratifiedKFold(5, shuffle=True, random_state=0), []
    for name, X, y in sets():
        for unit, change in UNITS.items():
            row = {"set": name, "shape": X.shape, "unit": unit}
            for model in options.models:
                start = time.process_time()
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    row[model] = 100.0 * float(cross_val_score(MODELS[model](), change(X), y, cv=folds).mean())
                row[f"{model}, s"] = time.process_time() - start
            rows.append(row)
            print(
                f"{name:17} {unit:13}" + "".join(f" {model} {row[model]:.1f}" for model in options.models), flush=True
            )
    peers = [model for model in ("SVC", "scaler + SVC") if model in options.models]
    for model in (m for m in options.models if m not in peers and peers):
        behind = {row["set"]: 0.0 for row in rows}
        for row in rows:
            behind[row["set"]] = max(behind[row["set"]], max(row[peer] for peer in peers) - row[model])
        near = sum(value <= 2.0 for value in behind.values())
        print(f"{model}: within two points of the better SVC, in all units, on {near} of {len(behind)} sets")
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "first_calls_lp.json").write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
