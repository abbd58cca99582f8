"""What a run leaves behind: tables on the terminal, a JSON file, a figure and a list of verdicts."""

import json
import math

FAMILY = "BSSSelector, published weights"
DEFAULT = "BSSSelector"
WANTED_COST = 2.0
"""What the best weights and their columns may cost, beside the published method."""
TEXTBOOK = "textbook BSS"
WANTED_SPEEDUP = 50.0


def table(title, columns):
    """Print a heading and return a function that prints one row, at once."""
    widths = [max(len(name), width) for name, width in columns]
    print(f"\n{title}\n" + "  ".join(f"{name:>{w}}" for (name, _), w in zip(columns, widths, strict=True)))

    def row(*cells):
        print("  ".join(f"{cell!s:>{w}}" for cell, w in zip(cells, widths, strict=False)).rstrip(), flush=True)

    return row


def seconds(value):
    return "" if value is None else f"{value:.3g} s" if value < 100 else f"{value:.0f} s"


def times(value):
    return "" if value is None else f"{value:.3g}x" if value < 100 else f"{value:.0f}x"


def megabytes(value):
    return f"{value / 1e6:.1f} MB"


def save(results, folder):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "selection.json").write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")


def verdicts(results):
    """One dict a claim: what is claimed, whether it held ("pass", "fail", "not measured"), on what evidence."""
    comparison = results["comparison"]
    out = [_speedup(comparison), _agreement(comparison), _cost_of_the_default(comparison)]
    out += [_faster_than(name, comparison) for name in ("RFE(LinearSVC)", "FPS", "FastCan")]
    out.append(_memory(results["memory"]))
    out.append(_finished(results["large"]))
    return out


def _verdict(claim, held, evidence):
    state = "not measured" if held is None else "pass" if held else "fail"
    return {"claim": claim, "verdict": state, "evidence": evidence}


def _cost_of_the_default(comparison):
    ratios = [c["ratio"] for c in comparison if c["contestant"] == DEFAULT and c["ratio"] is not None]
    claim = f"columns and weights of the default take at most {WANTED_COST:.0f} times as long as the published method"
    evidence = f"{min(ratios):.2g} to {max(ratios):.2g} times" if ratios else ""
    return _verdict(claim, max(ratios) <= WANTED_COST if ratios else None, evidence)


def _speedup(comparison):
    claim = f"at least {WANTED_SPEEDUP:.0f}x faster than the textbook loop on every size"
    runs = [c for c in comparison if c["contestant"] == TEXTBOOK and c["ratio"] is not None]
    if not runs:
        return _verdict(claim, None, "")
    least = min(runs, key=lambda c: c["ratio"])
    floor = min(c["least_ratio"] for c in runs)
    evidence = f"least {times(least['ratio'])} at {least['case']}; {times(floor)} by the loop's fastest steps"
    return _verdict(claim, least["ratio"] >= WANTED_SPEEDUP, evidence)


def _agreement(comparison):
    claim = "same selection as the textbook loop"
    runs = [c for c in comparison if c["contestant"] == TEXTBOOK and c["ratio"] is not None]
    if not runs:
        return _verdict(claim, None, "")
    complete = [c for c in runs if c["complete"]]
    worst = max((c["weight_error"] for c in complete if c["weight_error"] is not None), default=math.nan)
    evidence = (
        f"{sum(c['same'] for c in complete)} of {len(complete)} complete runs (weights differ by {worst:.1e} at most), "
        f"{sum(c['same'] for c in runs if not c['complete'])} of {len(runs) - len(complete)} begun ones"
    )
    return _verdict(claim, all(c["same"] for c in runs), evidence)


def _faster_than(name, comparison):
    claim = f"faster than {name} wherever it ran"
    runs = [c for c in comparison if c["contestant"] == name and c["ratio"] is not None]
    if not runs:
        return _verdict(claim, None, "")
    least = min(runs, key=lambda c: c["ratio"])
    slower = [c["case"] for c in runs if c["ratio"] <= 1.0]
    evidence = f"least {times(least['ratio'])} at {least['case']}, {len(runs)} cases"
    return _verdict(claim, not slower, evidence + (f"; slower at {'; '.join(slower)}" if slower else ""))


def _memory(memory):
    claim = "CSR input: peak memory below that of an n x d array"
    runs = [m for m in memory if m["storage"] == "CSR"]
    if not runs:
        return _verdict(claim, None, "")
    worst = max(runs, key=lambda m: m["peak_bytes"] / m["dense_bytes"])
    share = worst["peak_bytes"] / worst["dense_bytes"]
    return _verdict(claim, share < 1.0, f"at most {share:.1%} of it, {worst['contestant']} at {worst['case']}")


def _finished(large):
    d = max(outcome["d"] for outcome in large)
    runs = [outcome for outcome in large if outcome["d"] == d]
    evidence = [f"{run['contestant']} {run['error'] or seconds(run['seconds'])}" for run in runs]
    return _verdict(f"CSR with d = {d:,} finished", all(run["error"] is None for run in runs), ", ".join(evidence))


def figure(results, path):
    """Times of all contestants on a log axis, and how the time of `BSSSelector.fit` grows."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    fig, axes = plt.subplot_mosaic([["times"] * 3, ["d", "n", "r"]], figsize=(15, 9), layout="constrained")
    _bars(axes["times"], results["comparison"])
    measured = [y for curve in results["growth"] for y in curve["seconds"]]
    for curve in results["growth"]:
        _curve(axes[curve["variable"]], curve, (min(measured) / 2, max(measured) * 2))
    fig.savefig(path, dpi=130)
    plt.close(fig)


def _bars(axis, comparison):
    import matplotlib.pyplot as plt

    cases = list(dict.fromkeys(c["case"] for c in comparison))
    names = list(dict.fromkeys(c["contestant"] for c in comparison if c["seconds"] is not None))
    width = 0.85 / len(names)
    colours = plt.get_cmap("tab10")
    for k, name in enumerate(names):
        runs = [c for c in comparison if c["contestant"] == name and c["seconds"] is not None]
        x = [cases.index(c["case"]) + (k - (len(names) - 1) / 2) * width for c in runs]
        hatches = ["//" if c.get("complete") is False else None for c in runs]
        bars = axis.bar(x, [c["seconds"] for c in runs], width, label=name, color=colours(k), hatch=hatches)
        labels = [times(c["ratio"]) for c in runs]
        axis.bar_label(bars, labels, fontsize=7, rotation=90, padding=2)
    axis.set_yscale("log")
    axis.margins(y=0.18)
    axis.set_xticks(range(len(cases)), cases)
    axis.set_ylabel("seconds (hatched: extrapolated)")
    axis.set_title(f"Time to select; above each bar its ratio to {FAMILY}")
    axis.legend(ncols=len(names), fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.06))


def _curve(axis, curve, limits):
    axis.loglog(curve["values"], curve["seconds"], "o-")
    for x, y in zip(curve["values"], curve["seconds"], strict=True):
        axis.annotate(seconds(y), (x, y), textcoords="offset points", xytext=(0, 8), ha="center", fontsize=8)
    axis.set_xticks(curve["values"], [f"{v:,}" for v in curve["values"]])
    axis.xaxis.minorticks_off()
    axis.set_ylim(limits)
    axis.margins(x=0.12)
    axis.set_xlabel(curve["label"])
    axis.set_ylabel(f"seconds of {FAMILY}.fit")
    axis.set_title(f"{curve['variable']}: slope {curve['slope']:.2f} ({curve['fixed']})")
