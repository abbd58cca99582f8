"""Run trials: python trials/run.py [--only NAME ...] [--daily] [--size N] [--seed S] [--jobs J] [--record].

All of trials/registry.py, or those that are named. What is wrong is printed as it is found, and a table of figures at
the end. Results are kept in build/trials: an interrupted run goes on where it was, as long as the sources are the same.
The exit code is 1 if a figure is worse than the recorded one (trials/figures.json), which --record replaces. Sizes are
those for hours, with --daily small ones, with --size any.
"""

import argparse
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from trials.record import figures, judged, record, run  # noqa: E402
from trials.registry import TRIALS  # noqa: E402

NAMES = {trial.name: trial for trial in TRIALS}


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=sorted(NAMES), help="these trials")
    parser.add_argument("--daily", action="store_true", help="small sizes")
    parser.add_argument("--size", type=int, help="of the trials that are named")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--record", action="store_true", help="take the figures as those to compare with")
    parser.add_argument("--results", type=Path, default=ROOT / "build" / "trials")
    options = parser.parse_args(arguments)
    if options.size is not None and options.only is None:
        parser.error("--size is of trials that are named by --only")
    which = "daily" if options.daily else "full"
    lines, failed = [], False
    for trial in [NAMES[name] for name in options.only or NAMES]:
        size = options.size or getattr(trial, which)
        print(f"{trial.name}, size {size}: {trial.about}", flush=True)
        result = run(trial, size, options.seed, options.results / which, options.jobs)
        if options.record:
            record(which, trial, result, options.jobs)
        stored = figures()
        recorded = stored.get(which, stored.get("full", {})).get(trial.name, {}).get("counts", {})
        said, worse = judged(trial, result.counts, recorded)
        failed |= worse
        lines += [f"{trial.name:10} {result.seconds:7.0f} s  {line}" for line in said]
        print("\n".join(f"  {table}: {dict(counts)}" for table, counts in result.tables.items()), flush=True)
    print("\n".join(["", "trial         time  figure", *lines]))
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
