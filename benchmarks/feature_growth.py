"""How time and memory of a first call of KernelFeatureSelector grow with rows and columns: a part of bench_features."""

import json
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from memory import peak_gigabytes

from rarefy.kernel import KernelFeatureSelector

SIZES = {
    "exact": [*((n, 50) for n in (200, 400, 800, 1600, 3000)), *((400, d) for d in (25, 100, 400, 1600, 6400))],
    "landmarks": [
        *((n, 50) for n in (3200, 6400, 12_800, 25_600, 51_200)),
        *((10_000, d) for d in (25, 100, 400, 1600)),
    ],
}
"""Rows and columns of the growth; the form is the one that a first call takes."""
QUICK = {"exact": [(100, 10), (200, 10)], "landmarks": [(3200, 10)]}


def rows_and_columns(folder, before, quick):
    """Processor time and memory of first calls as rows and columns grow, and of those of an earlier version.

    Each fit has a process of its own. What was measured is kept in feature_growth.json of the folder.
    """
    file = folder / ("feature_growth_quick.json" if quick else "feature_growth.json")
    found = json.loads(file.read_text()) if file.exists() else {}
    sources = {"now": Path(__file__).parents[1] / "src"} | ({"before": before} if before else {})
    for form, shapes in (QUICK if quick else SIZES).items():
        for n, d in shapes:
            for version, source in sources.items():
                at = f"{form} | {n} | {d} | {version}"
                if at in found or (version, form) == ("before", "landmarks"):
                    continue
                found[at] = _in_a_process(source, n, d)
                file.write_text(json.dumps(found, indent=1))
                print(at, found[at], flush=True)
    return found


def _in_a_process(source, n, d, most=180):
    """What `one_fit` says in a process that imports the library from a folder; None if it takes too long."""
    script = f"import sys; sys.path[:0] = [{str(source)!r}, {str(Path(__file__).parent)!r}]; import feature_growth as b"
    limit = f"import resource; resource.setrlimit(resource.RLIMIT_CPU, ({most}, {most}))"
    run = [sys.executable, "-W", "ignore", "-c", f"{script}; {limit}; b.one_fit({n}, {d})"]
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    return json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else None


def one_fit(n, d):
    """Print seconds, megabytes above those before the fit, and whether exactly the right columns were found."""
    X = np.random.default_rng(0).standard_normal((n, d))
    y = X[:, 0] * X[:, 1] > 0
    model = KernelFeatureSelector()
    small = np.ascontiguousarray(X[:60, :4])
    model.fit(small, y[:60])  # loads what is loaded late
    at_rest = int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 1e6
    start = time.process_time()
    model.fit(X, y)
    seconds = time.process_time() - start
    peak = 1e3 * peak_gigabytes()
    right = model.get_support(indices=True).tolist() == [0, 1]
    print(json.dumps({"seconds": seconds, "megabytes": max(peak - at_rest, 0.0), "right": right}))


LINES = {
    "exact | now": ("exact form", "#c8501e"),
    "landmarks | now": ("landmark form", "#3b6ea5"),
    "exact | before": ("first version", "#999999"),
}


def draw_growth(found, path):
    """Seconds and memory against rows and against columns."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.4, 5.4), layout="constrained")
    axes = figure.subplots(2, 2, sharex="col", sharey="row")
    for column, along in enumerate(("rows", "columns")):
        for label, (title, color) in LINES.items():
            form, version = label.split(" | ")
            cells = [(at.split(" | "), one) for at, one in found.items() if one]
            own = [(int(n), int(d), one) for (f, n, d, v), one in cells if (f, v) == (form, version)]
            line = sorted((n, one["seconds"], one["megabytes"]) for n, d, one in own if d == 50)
            if along == "columns":
                line = sorted((d, one["seconds"], one["megabytes"]) for n, d, one in own if d != 50)
                title = f"{title}, {'10 000' if form == 'landmarks' else '400'} rows"
            if len(line) > 1:
                x, seconds, memory = np.array(line).T
                style = {
                    "color": color,
                    "linewidth": 1.6,
                    "markersize": 4.5,
                    "linestyle": "-" if version == "now" else ":",
                }
                axes[0, column].loglog(x, seconds, "o", label=title, **style)
                axes[1, column].loglog(x, np.maximum(memory, 1.0), "o", **style)
        axes[1, column].set_xlabel(along if along == "columns" else "rows (50 columns)")
        axes[0, column].legend(frameon=False, fontsize=9)
        for axis in axes[:, column]:
            axis.grid(color="0.92")
            axis.spines[["top", "right"]].set_visible(False)
    axes[0, 0].set_ylabel("processor seconds of a first call")
    axes[1, 0].set_ylabel("megabytes beside the data")
    figure.savefig(path, dpi=110)
