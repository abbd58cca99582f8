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
    """One version's functions, whichever package is imported by that name afterwards."""

    def __init__(self, source):
        for name in [name for name in sys.modules if name.split(".")[0] == "rarefy"]:
            del sys.modules[name]
        sys.path.insert(0, str(source))
        self.svm = importlib.import_module("rarefy.core.svm.norm_svm")
        self.rough = importlib.import_module("rarefy.core.svm.rough_svm")
        self.rows = importlib.import_module("rarefy.core.linalg.rows")
        sys.path.remove(str(source))

    def exact(self, F, labels, gram, alpha, starts=None):
        """SVMs of all classes against the others, and the seconds of each."""
        rows, p, found, seconds = self.rows.DenseRows(F), np.ones(len(F)), [], []
        for c in range(10):
            y = np.where(labels == c, 1.0, -1.0)
            start = None if starts is None else starts[c].multipliers
            began = time.process_time()
            found.append(self.svm.norm_svm(rows, y, alpha, p, start=start, gram=gram, tol=1e-6))
            seconds.append(time.process_time() - began)
        return found, np.array(seconds)

    def settled(self, F, labels, gram):
        """The same until predictions settle."""
        Y = np.where(labels[:, None] == np.arange(10), 1.0, -1.0)
        began = time.process_time()
        found = self.rough.rough_norm_svms(self.rows.DenseRows(F), Y, ALPHA, np.ones(len(F)), norm=1, gram=gram)
        return found, time.process_time() - began


def coordinates(X, S):
    """Coordinates and a column of ones."""
    from rarefy.kernel import KernelSubspace

    D = KernelSubspace(S, n_landmarks=1000, gamma=GAMMA, standardize=False, random_state=0).fit_transform(X)
    return np.hstack([D.astype(np.float64), np.ones((len(D), 1))])


def worst_gap(found):
    return max(one.gap / (1.0 + one.objective) for one in found)


def ten_classes(F, labels, versions):
    """All classes at one penalty: seconds, and the largest relative gap."""
    gram, results = F.T @ F, {}
    for name, version in versions.items():
        found, seconds = version.exact(F, labels, gram, ALPHA)
        rough, settled = version.settled(F, labels, gram)
        table = np.array([np.append(one.w, one.b) for one in rough])
        exact = np.array([np.append(one.w, one.b) for one in found])
        same = float(np.mean((F @ table.T).argmax(1) == (F @ exact.T).argmax(1)))
        results[name] = {"exact": seconds.sum(), "gap": worst_gap(found), "predictions": settled, "same labels": same}
        print(f"{F.shape} {name}:", {k: float(f"{v:.3g}") for k, v in results[name].items()}, flush=True)
    return results


def path(F, labels, versions):
    """Nine penalties over four decades: each on its own with both versions, and from its neighbour."""
    gram, results = F.T @ F, {}
    for name, version in versions.items():
        results[name] = float(sum(version.exact(F, labels, gram, alpha)[1].sum() for alpha in DECADES))
    now, middle, total = versions["now"], len(DECADES) // 2, 0.0
    first, seconds = now.exact(F, labels, gram, DECADES[middle])
    total += seconds.sum()
    for order in (DECADES[middle + 1 :], DECADES[:middle][::-1]):
        starts = first
        for alpha in order:
            starts, seconds = now.exact(F, labels, gram, alpha, starts)
            total += seconds.sum()
    results["path"] = float(total)
    ratios = {f"path / {name}": total / results[name] for name in versions}
    print(f"{F.shape} nine penalties:", {k: float(f"{v:.3g}") for k, v in (results | ratios).items()}, flush=True)
    return results | ratios


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
            found = {"ten classes": ten_classes(F, y[:n], versions)}
            if n < 60_000:
                found["path"] = path(F, y[:n], versions)
            results["sizes"][f"{n} x {S}"] = found
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "lp_versions.json").write_text(json.dumps(results, indent=1, default=float))


if __name__ == "__main__":
    main()
