"""A kernel classifier in few dimensions, and what people use instead: error against processor seconds, one thread.

On MNIST if the environment variable RAREFY_DATA names a folder with mnist.npz, else on scikit-learn's digits. Models on
the same coordinates share the seconds that these take.
"""

import argparse
import json
import os
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from rarefy.kernel import KernelSubspace, SubspaceLPSVC

RESULTS = Path(__file__).parent / "results"


def data(n, n_test):
    """Samples and classes to train and to test with; pixels from 0 to 1."""
    path = Path(os.environ.get("RAREFY_DATA", "")) / "mnist.npz"
    if not path.is_file():
        X, y = load_digits(return_X_y=True)
        X, Z, y, z = train_test_split(X / 16, y, test_size=597, random_state=0)
        return X[:n], y[:n], Z[:n_test], z[:n_test]
    with np.load(path, allow_pickle=False) as stored:
        X, Z = (stored[f"X_{part}"].reshape(-1, 784).astype(np.float32) / 255 for part in ("train", "test"))
        return X[:n], stored["y_train"][:n], Z[:n_test], stored["y_test"][:n_test]


def clock(work):
    start = time.process_time()
    result = work()
    return result, time.process_time() - start


def on_coordinates():
    """Other models that are trained on the coordinates of a subspace."""
    return {"logistic regression": LogisticRegression(C=10.0, max_iter=1000), "ridge": RidgeClassifier(alpha=0.1)}


def peers(S):
    return {
        f"Nystroem({S}) + logistic": make_pipeline(
            Nystroem(gamma=0.02, n_components=S, random_state=0), LogisticRegression(C=10.0, max_iter=1000)
        ),
        f"Nystroem({S}) + ridge": make_pipeline(
            Nystroem(gamma=0.02, n_components=S, random_state=0), RidgeClassifier(alpha=0.1)
        ),
        "SVC": SVC(gamma=0.02, C=5.0, cache_size=1000),
        "HistGradientBoosting": HistGradientBoostingClassifier(random_state=0),
        "MLP": MLPClassifier((256,), early_stopping=True, random_state=0),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 200, 400])
    options = parser.parse_args()
    X, y, Z, z = data(options.rows, 10_000)
    runs = []

    def run(name, fit, predict, before=0.0):
        model, seconds = clock(fit)
        predicted, later = clock(lambda: predict(model))
        runs.append({"name": name, "fit": before + seconds, "predict": later, "error": float(np.mean(predicted != z))})
        print(f"{name}: fit {before + seconds:.1f} s, predict {later:.1f} s, error {runs[-1]['error']:.2%}", flush=True)

    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        for S in options.sizes:
            subspace = KernelSubspace(S, n_landmarks=max(1000, 5 * S), gamma=0.02, standardize=False, random_state=0)
            D, before = clock(lambda subspace=subspace: subspace.fit_transform(X))
            for tol in (1e-6, "predictions"):
                common = {"n_components": S, "n_landmarks": max(1000, 5 * S), "gamma": 0.02, "standardize": False}
                model = SubspaceLPSVC(0.1, tol=tol, random_state=0, **common)
                run(f"SubspaceLPSVC({S}), tol={tol}", lambda m=model: m.fit(X, y), lambda m: m.predict(Z))
            for name, model in on_coordinates().items():
                run(
                    f"{name} on the {S} coordinates",
                    lambda m=model, D=D: m.fit(D, y),
                    lambda m, s=subspace: m.predict(s.transform(Z)),
                    before,
                )
        for name, model in peers(max(options.sizes)).items():
            run(name, lambda m=model: m.fit(X, y), lambda m: m.predict(Z))
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "lp_peers.json").write_text(json.dumps(runs, indent=1))


if __name__ == "__main__":
    main()
