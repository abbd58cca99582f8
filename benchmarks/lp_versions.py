"""The linear programs of SubspaceLPSVC beside those of an earlier version and HiGHS, in one process, one thread.

    python benchmarks/lp_versions.py --before FOLDER

FOLDER is a checkout of the earlier version (`git worktree add FOLDER COMMIT`). Both versions get the same coordinates,
and take turns. Digits are MNIST's when RAREFY_DATA points to the folder of mnist.npz, else generated. Processor seconds
compare as ratios only.
"""

import argparse
import importlib
import json
import sys
import time
from pathlib import Path

import numpy as np
from bench_lp import GAMMA, RESULTS, against_highs, digits
from threadpoolctl import threadpool_limits

ALPHA = 0.08
DECADES = np.geomspace(1e-3, 10.0, 9)


class Version:
    """One version's programs, whichever package is imported by that name afterwards."""

    def __init__(self, source):
        for name in [name for name in sys.modules if name.split(".")[0] == "rarefy"]:
            del sys.modules[name]
        sys.path.insert(0, str(source))
        self.programs = importlib.import_module("rarefy.kernel._subspace_programs").SubspacePrograms
        self.rows = importlib.import_module("rarefy.core.linalg.rows").DenseRows
        sys.path.remove(str(source))

    def solve(self, F, labels, gram, alphas, tol=1e-6):
        """SVMs of all classes against the others for one penalty, or for a path of several, and the seconds."""
        problem = self.programs(self.rows(F), gram, labels, 10, np.ones(len(F)), 1, tol, 200)
        began = time.process_time()
        found = problem.solve(alphas) if np.isscalar(alphas) else problem.solve_path(alphas)
        return found, time.process_time() - began


def coordinates(X, S):
    """Coordinates and a column of ones."""
    from rarefy.kernel import KernelSubspace

    D = KernelSubspace(S, n_landmarks=1000, gamma=GAMMA, standardize=False, random_state=0).fit_transform(X)
    return np.hstack([D.astype(np.float64), np.ones((len(D), 1))])


def ten_classes(F, labels, versions):
    """All classes at one penalty: seconds, and the largest relative gap."""
    gram, results = F.T @ F, {}
    for name, version in versions.items():
        exact, seconds = version.solve(F, labels, gram, ALPHA)
        rough, settled = version.solve(F, labels, gram, ALPHA, "predictions")
        one, other = ((F[:, :-1] @ found.coef.T + found.intercept).argmax(1) for found in (exact, rough))
        gap = float(np.max(exact.duality_gap / (1.0 + exact.objective)))
        results[name] = {
            "exact": seconds,
            "gap": gap,
            "predictions": settled,
            "same labels": float(np.mean(one == other)),
        }
        print(f"{F.shape} {name}:", {k: float(f"{v:.3g}") for k, v in results[name].items()}, flush=True)
    return results


def path(F, labels, versions):
    """Nine penalties over four decades, each on its own with both versions, and as a path."""
    gram, results = F.T @ F, {}
    for name, version in versions.items():
        results[name] = sum(version.solve(F, labels, gram, float(alpha))[1] for alpha in DECADES)
        results[f"path of {name}"] = version.solve(F, labels, gram, DECADES)[1]
    ratios = {f"path / {name}": results["path of now"] / results[name] for name in versions}
    print(f"{F.shape} nine penalties:", {k: float(f"{v:.3g}") for k, v in (results | ratios).items()}, flush=True)
    return results | ratios


def fits(X, y, S):
    """What a user waits for, coordinates included: nine fits of the classifier, and one path over their penalties."""
    from rarefy.kernel import SubspaceLPSVC

    model = SubspaceLPSVC(n_components=S, gamma=GAMMA, standardize=False, tol=1e-6, n_jobs=1, random_state=0)
    began = time.process_time()
    model.alpha_path(X, y, DECADES)
    along = time.process_time() - began
    for alpha in DECADES:
        model.set_params(alpha=float(alpha)).fit(X, y)
    alone = time.process_time() - began - along
    print(f"{X.shape[0]} x {S}: path {along:.3g}, nine fits {alone:.3g}, ratio {along / alone:.3g}", flush=True)
    return {"path": along, "nine fits": alone, "ratio": along / alone}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--before", type=Path, help="a checkout of an earlier version")
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that it runs")
    options = parser.parse_args()
    sizes = [(2000, 50)] if options.quick else [(10_000, 100), (20_000, 200), (60_000, 400)]
    X, y, _, _, source = digits(sizes[-1][0], 10)
    results = {"source": source, "sizes": {}}
    with threadpool_limits(1):
        matrices = {size: coordinates(X[: size[0]], size[1]) for size in sizes}
        results["highs"] = against_highs(X[: sizes[0][0]], y[: sizes[0][0]], sizes[0][1], digit=8)
        versions = {} if options.before is None else {"before": Version(options.before / "src")}
        versions["now"] = Version(Path(__file__).resolve().parents[1] / "src")
        for (n, S), F in matrices.items():
            found = {"ten classes": ten_classes(F, y[:n], versions), "fits": fits(X[:n], y[:n], S)}
            if n < 60_000:
                found["path"] = path(F, y[:n], versions)
            results["sizes"][f"{n} x {S}"] = found
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "lp_versions.json").write_text(json.dumps(results, indent=1, default=float))


if __name__ == "__main__":
    main()
