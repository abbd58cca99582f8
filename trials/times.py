"""Processor time of the main paths, as ratios to two yardsticks that are measured in the same process.

One yardstick is arithmetic of numpy, the other the interpreter with small calls of numpy. Paths are mixtures of both:
on another computer, where one of them is faster by another factor than the other, a path that has not changed is not
slower than recorded against both. So a path counts as slower if it takes over 20 % more than recorded *in both units*.

Path and yardsticks take turns, and each has its least time of all rounds: what others do with this computer makes
single rounds slower, all three alike. Who seems slower is measured in twice as many further rounds, and the least times
of all rounds together decide. `python trials/times.py --record` writes the recorded ratios, trials/times.json.
"""

import json
import sys
import time
import warnings
from collections import Counter
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

import rarefy
from rarefy.kernel import KernelFeatureSelector, SubspaceLPSVC
from rarefy.ranking import RankRC
from rarefy.selection import BestSubsetSelector, BSSSelector, LPSVMSelector, RRQRSelector

RECORDED = Path(__file__).parent / "times.json"
SLOWER = 1.2
ROUNDS = 15
_LEAST = 0.02
"""Seconds that a path takes in one round: a short one is called many times."""


def arithmetic():
    """Products, factorisations and sorting."""
    rng = np.random.default_rng(0)
    A = rng.standard_normal((300, 300))
    for _ in range(3):
        np.linalg.eigvalsh(A @ A.T)
    np.sort(rng.standard_normal(200_000))


def calls():
    """A loop of the interpreter with calls of numpy for few numbers."""
    x, total = np.arange(20.0), 0.0
    for i in range(6_000):
        total += float(x @ x) + i * i
        x = np.maximum(x, 0.0) + 0.0
    return total


YARDSTICKS = {"arithmetic": arithmetic, "calls": calls}


def paths():
    """Name and call."""
    rng = np.random.default_rng(0)
    y = (np.arange(400) % 5 == 0).astype(int)
    X, wide = rng.standard_normal((400, 20)) + y[:, None], rng.standard_normal((60, 3000))
    wide[:, :3] += 3.0 * y[:60, None]
    certificate = BSSSelector(120).fit(wide).certificate_
    return {
        "BSSSelector": lambda: BSSSelector(120).fit(wide),
        "RRQRSelector": lambda: RRQRSelector(60).fit(wide),
        "certify with labels": lambda: rarefy.certify(wide, range(90), y=y[:60], C=1.0),
        "verify": lambda: certificate.verify(wide),
        "LPSVMSelector, wide": lambda: LPSVMSelector().fit(wide, y[:60]),
        "LPSVMSelector, tall": lambda: LPSVMSelector().fit(X, y),
        "BestSubsetSelector": lambda: BestSubsetSelector(3, max_nodes=50).fit(X, y),
        "RankRC": lambda: RankRC(random_state=0).fit(X, y),
        "SubspaceLPSVC": lambda: SubspaceLPSVC(n_components=20, random_state=0).fit(X, y),
        "KernelFeatureSelector": lambda: KernelFeatureSelector(random_state=0).fit(X[:150, :8], y[:150]),
    }


def seconds(call, repeats=1):
    """The least processor time of some calls."""
    found = []
    for _ in range(repeats):
        start = clock()
        call()
        found.append(clock() - start)
    return min(found)


clock = time.process_time


class Ratios:
    """The least times of a path and of the yardsticks, in rounds in which they take turns."""

    def __init__(self, call):
        self._calls = {"path": call, **YARDSTICKS}
        self._least = {}
        with _quiet():
            call()  # what is made once: compiled, imported, cached
            self._repeats = max(1, round(_LEAST / max(seconds(call), 1e-9)))

    def go_on(self, rounds):
        """As many more rounds; the ratios of the least times of all."""
        with _quiet():
            for _ in range(rounds):
                for name, call in self._calls.items():
                    found = seconds(call, self._repeats if name == "path" else 1)
                    self._least[name] = min(found, self._least.get(name, found))
        return {name: self._least["path"] / self._least[name] for name in YARDSTICKS}


@contextmanager
def _quiet():
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        yield


def time_trial(name, recorded=None, call=None):
    """(counts, what is wrong) of one path."""
    known = (json.loads(RECORDED.read_text()) if recorded is None else recorded)[name]
    ratios = Ratios(call or paths()[name])
    found = ratios.go_on(ROUNDS)
    if _share(found, known) > SLOWER:
        found = ratios.go_on(2 * ROUNDS)
    share = _share(found, known)
    said = [f"{name} takes {share:.2f} times the recorded time: {_rounded(found)}, recorded {known}"]
    return Counter({"paths": 1, "slower": int(share > SLOWER)}), said if share > SLOWER else []


def _share(found, known):
    """How many times as long as recorded, in the unit in which that is less."""
    return min(found[name] / known[name] for name in YARDSTICKS)


def _rounded(ratios):
    return {name: round(ratio, 3) for name, ratio in ratios.items()}


def time_pieces(n, seed):
    """Every path n times."""
    for _ in range(n):
        for name in paths():
            yield name, partial(time_trial, name)


def main():
    found = {name: _rounded(Ratios(call).go_on(2 * ROUNDS)) for name, call in paths().items()}
    print(json.dumps(found, indent=1))
    if "--record" in sys.argv:
        RECORDED.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
