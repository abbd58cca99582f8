"""Run trials: python trials/run.py [--problems N] [--seed S] [--forgeries | --subsets | --ranking | --kills | ...].

Of N problems two thirds are about kernel matrices, spread over the decades of the condition number, and one third is
about objectives. With --ranking, N problems are about bounds on scores, a fifth as many are about solvers, and every
promise is made N times. With --kills, N commands are ended at random moments. With --clusters, N workers
of a cluster are killed at random moments of fits, and a fifth as many clients. With --inputs, N malformed inputs go
through the commands. With --programs, N support vector machines are trained by linear programs. With --features, every
problem of the kernel feature selectors has N seeds. What is wrong is printed as it is found,
--output FILE writes all counts, and the exit code is 1 if anything is wrong.
"""

import argparse
import json
import sys
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from trials.clusters import cluster_trials  # noqa: E402
from trials.exact import DECADES, objective_trial, trial  # noqa: E402
from trials.features import ESTIMATORS, feature_trials  # noqa: E402
from trials.forgeries import forgery_matrix  # noqa: E402
from trials.inputs import input_trials  # noqa: E402
from trials.kills import kill_trials  # noqa: E402
from trials.programs import program_trial  # noqa: E402
from trials.ranking import promise_trial, score_trial, solver_trial  # noqa: E402
from trials.subsets import subset_trial  # noqa: E402

GOALS = ("violated", "honest, not verified", "accepted and improved", "disagreements", "raw errors", "crashes")
PROMISES = 8
"""Promises for each distribution of scores."""


def exact_trials(n, seed):
    """Counts by decade of the condition number, and for objectives."""
    tables, wrong = {}, []
    share = max(1, 2 * n // (3 * len(DECADES)))
    for decade in DECADES:
        tables[f"1e{decade}"] = _sum((trial(seed + i, decade) for i in range(share)), wrong)
        print(f"condition 1e{decade}:", dict(tables[f"1e{decade}"]), flush=True)
    tables["objectives"] = _sum((objective_trial(seed + i) for i in range(max(1, n // 3))), wrong)
    print("objectives:", dict(tables["objectives"]), flush=True)
    return tables, wrong


def ranking_trials(n, seed):
    """Counts for bounds on scores, for solvers and for promises."""
    tables, wrong = {}, []
    outcomes = {
        "scores": (score_trial(seed + i) for i in range(n)),
        "solvers": (solver_trial(seed + i) for i in range(max(1, n // 5))),
        "promises": (promise_trial(seed + i, n) for i in range(PROMISES)),
    }
    for name, found in outcomes.items():
        tables[name] = _sum(found, wrong)
        print(f"{name}:", dict(tables[name]), flush=True)
    return tables, wrong


def _sum(outcomes, wrong):
    total = Counter()
    for counts, faults in outcomes:
        total.update(counts)
        wrong += faults
        for fault in faults:
            print("WRONG:", fault, flush=True)
    return total


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--forgeries", action="store_true", help="the whole forgery matrix instead")
    parser.add_argument("--subsets", action="store_true", help="bounds on choices against all choices instead")
    parser.add_argument("--ranking", action="store_true", help="bounds, promises and solvers of rankers instead")
    parser.add_argument("--kills", action="store_true", help="commands that are ended at random moments instead")
    parser.add_argument("--clusters", action="store_true", help="workers and clients that are killed in a fit instead")
    parser.add_argument("--inputs", action="store_true", help="malformed inputs through the commands instead")
    parser.add_argument("--features", action="store_true", help="what kernel feature selectors find instead")
    parser.add_argument("--programs", action="store_true", help="linear programs against other solvers instead")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    start = time.perf_counter()
    if options.forgeries:
        kappas, scales = [10.0**e for e in DECADES], [10.0**e for e in (-6, -3, 0, 3, 6)]
        tally = forgery_matrix(options.seed, kappas, scales)
        tables, wrong = {"forgeries": tally.counts}, tally.examples
    elif options.subsets:
        wrong = []
        tables = {"subsets": _sum((subset_trial(options.seed + i) for i in range(options.problems)), wrong)}
    elif options.programs:
        wrong = []
        tables = {"programs": _sum((program_trial(options.seed + i) for i in range(options.problems)), wrong)}
    elif options.ranking:
        tables, wrong = ranking_trials(options.problems, options.seed)
    elif options.kills:
        wrong = []
        tables = {"kills": _sum(kill_trials(options.problems, options.seed), wrong)}
    elif options.clusters:
        wrong = []
        tables = {"clusters": _sum(cluster_trials(options.problems, options.seed), wrong)}
    elif options.inputs:
        tables, wrong = input_trials(options.problems, options.seed)
    elif options.features:
        wrong = []
        runs = {make.__name__: feature_trials(options.problems, options.seed, make) for make in ESTIMATORS}
        tables = {name: _sum(run, wrong) for name, run in runs.items()}
    else:
        tables, wrong = exact_trials(options.problems, options.seed)
    total = sum(tables.values(), Counter())
    seconds = round(time.perf_counter() - start, 1)
    print("together:", dict(total), f"in {seconds} s")
    if options.output is not None:
        result = {"seed": options.seed, "seconds": seconds, "tables": tables, "together": total, "wrong": wrong}
        options.output.write_text(json.dumps(result, indent=1, default=str), encoding="utf-8")
    return int(any(total[goal] for goal in GOALS))


if __name__ == "__main__":
    sys.exit(main())
