"""ReliefSelector against skrebate's ReliefF with one neighbour: time ratio and ranking, in one process."""

import json
import time
from pathlib import Path

import numpy as np

from rarefy.selection import ReliefSelector

RESULTS = Path(__file__).parent / "results"


def main():
    try:
        from skrebate import ReliefF
    except ModuleNotFoundError:
        print("skrebate is not installed; make bench installs it")
        return
    rng = np.random.default_rng(0)
    n, d = 500, 2000
    y = rng.integers(0, 2, n)
    X = rng.standard_normal((n, d))
    X[:, :10] += y[:, None]
    ReliefSelector(100).fit(X[:50], y[:50])  # load what is loaded lazily
    ours, seconds = _timed(lambda: ReliefSelector(100).fit(X, y))
    theirs, their_seconds = _timed(lambda: ReliefF(n_neighbors=1, n_features_to_select=100).fit(X, y))
    same = np.array_equal(
        np.argsort(-ours.scores_, kind="stable"), np.argsort(-theirs.feature_importances_, kind="stable")
    )
    ratio = their_seconds / seconds
    print(
        f"{n} x {d}: ReliefSelector {seconds:.3f} s, skrebate {their_seconds:.1f} s, {ratio:.0f}x; same ranking: {same}"
    )
    RESULTS.mkdir(exist_ok=True)
    result = {"seconds": seconds, "skrebate": their_seconds, "ratio": ratio, "same_ranking": bool(same)}
    (RESULTS / "relief.json").write_text(json.dumps(result, indent=1))


def _timed(work):
    start = time.perf_counter()
    result = work()
    return result, time.perf_counter() - start


if __name__ == "__main__":
    main()
