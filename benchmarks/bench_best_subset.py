"""Objective, proof, prediction, stability, recovery and growth of `BestSubsetSelector`, beside what a user would pick.

    RAREFY_DATA=... python benchmarks/bench_best_subset.py [--quick] [--only objective splicing ...]

All seconds are processor time of one process with one BLAS thread. See README.md in this folder.
"""

import argparse
import json
import os
import time
import warnings
from importlib import metadata
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before any library with threads is loaded

from best_subset.exact import exact_table
from best_subset.objective import objective_table, splicing_table
from best_subset.prediction import error_table, recovery_table, stability_table
from best_subset.scale import picture, scale_table
from best_subset.verdicts import losses
from threadpoolctl import threadpool_limits

PARTS = {
    "objective": objective_table,
    "splicing": splicing_table,
    "exact": exact_table,
    "error": error_table,
    "stability": stability_table,
    "recovery": recovery_table,
    "scale": scale_table,
}
PACKAGES = ("rarefy", "numpy", "scipy", "scikit-learn", "abess", "l0bnb", "skscope")
NEEDED = {"splicing": ("abess", "skscope"), "exact": ("l0bnb",), "recovery": ("abess",)}
ON_FILES = ("objective", "splicing", "error", "stability")


def versions():
    out = {}
    for package in PACKAGES:
        try:
            out[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            out[package] = None
    return out


def unavailable(name):
    """What a table needs and is not there."""
    there = versions()
    missing = [package for package in NEEDED.get(name, ()) if there[package] is None]
    return missing + ["RAREFY_DATA"] * (name in ON_FILES and "RAREFY_DATA" not in os.environ)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small sizes: does everything work")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS), help="some of the tables")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results", help="folder for the results")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    warnings.simplefilter("ignore")
    arguments.out.mkdir(parents=True, exist_ok=True)
    path = arguments.out / ("best_subset_quick.json" if arguments.quick else "best_subset.json")
    results = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    with threadpool_limits(limits=1):
        for name in arguments.only:
            if missing := unavailable(name):
                print(f"\n{name}: not measured without {', '.join(missing)}")
                continue
            start = time.process_time()
            results[name] = {"versions": versions(), "rows": []}
            for row in PARTS[name](arguments.quick):
                results[name]["rows"].append(row)
                results[name]["seconds"] = time.process_time() - start
                path.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
            if name == "scale":
                picture(results[name]["rows"], path.with_name(f"{path.stem}_scale.png"))
    print("\nWhere others are better")
    print("\n".join(losses(results)))
    print(f"\n{path.name} is in {arguments.out}")


if __name__ == "__main__":
    main()
