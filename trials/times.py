"""Processor time of the main paths, as a ratio to a yardstick of numpy that is measured in the same process.

The recorded ratios are those of trials/times.json, which `python trials/times.py --record` writes. A path that is more
than 20 % slower is reported: measured three times more, so that what happened to be slow is not taken for slower.
"""

import json
import sys
import time
import warnings
from collections import Counter
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


def yardstick():
    """Products, a factorisation, sorting and a loop of the interpreter."""
    rng = np.random.default_rng(0)
    A = rng.standard_normal((400, 400))
    for _ in range(3):
        np.linalg.eigvalsh(A @ A.T)
    np.sort(rng.standard_normal(300_000))
    return sum(i * i for i in range(200_000))


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


def seconds(call, repeats=3):
    """The least processor time of some calls."""
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(repeats):
            start = time.process_time()
            call()
            found.append(time.process_time() - start)
    return min(found)


def ratio(call):
    """How many times as long as the yardstick, which is measured before and after."""
    with threadpool_limits(1):
        before, mine, after = seconds(yardstick), seconds(call), seconds(yardstick)
    return mine / min(before, after)


def time_trial(name, recorded=None):
    """(counts, what is wrong) of one path."""
    call = paths()[name]
    known = (json.loads(RECORDED.read_text()) if recorded is None else recorded)[name]
    found = ratio(call)
    if found > SLOWER * known:
        found = min(found, *(ratio(call) for _ in range(3)))
    slower = found > SLOWER * known
    said = [f"{name} takes {found:.2f} yardsticks, {found / known:.2f} times the recorded {known:.2f}"]
    return Counter({"paths": 1, "slower": int(slower)}), said if slower else []


def time_pieces(n, seed):
    """Every path n times."""
    for _ in range(n):
        for name in paths():
            yield name, partial(time_trial, name)


def main():
    found = {name: round(min(ratio(call) for _ in range(3)), 3) for name, call in paths().items()}
    print(json.dumps(found, indent=1))
    if "--record" in sys.argv:
        RECORDED.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
