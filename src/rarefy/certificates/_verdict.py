"""What a certificate is worth, in one word and one sentence that a practitioner understands."""

from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from rarefy.certificates._certificate import Certificate

Verdict = Literal["strong", "useful", "weak", "none"]

THRESHOLDS: tuple[tuple[float, Verdict], ...] = ((0.9, "strong"), (0.5, "useful"), (0.1, "weak"))


LEAST_GAIN = 0.1
"""A share of an objective counts if the columns gain this much of what all columns gain over none."""


def share_of(c: "Certificate") -> float | None:
    """The best certified share: of an objective, of squared margin over squared radius, of the data."""
    return max((share for share, _ in _shares(c)), default=None)


def _shares(c: "Certificate") -> list[tuple[float, str]]:
    """What is certified, with what it is a share of; what the kept columns explain only where nothing else is."""
    found = []
    if c.objective_ratio is not None and c.objective is not None and (c.objective.gain or 0.0) >= LEAST_GAIN:
        found.append((c.objective_ratio, "objective"))
    # Beside a radius that may have grown: no common factor of columns helps.
    growth = max(1.0, c.eigenvalues[1])
    if c.all_rows_ratio is not None:
        found.append((c.all_rows_ratio / growth, "all rows"))
    # What holds for some rows only counts where nothing is certified for all.
    if c.margin_floor is not None and (c.rows is None or not found):
        found.append((c.margin_floor / growth, "margin"))
    # Where an objective is stated, it is what counts: a worse one must not bring another share forward.
    if not found and c.objective is None and c.explained is not None and c.kind not in ("none", "estimate"):
        found.append((c.explained, "explained"))
    return found


def verdict_of(share: float | None) -> Verdict:
    """The word for a share."""
    if share is None:
        return "none"
    return next((word for least, word in THRESHOLDS if share >= least), "none")


def verdict_on(c: "Certificate") -> Verdict:
    """The word for a certificate; what is only known to explain the data says nothing about models, and is weak."""
    found = _shares(c)
    word = verdict_of(c.share)
    return "weak" if found and max(found)[1] == "explained" and word != "none" else word


def headline(c: "Certificate") -> str:
    """The verdict in one sentence."""
    kept, found = len(c.indices), _shares(c)
    if not found:
        return _nothing(c)
    share, what = max(found)
    if what == "objective" and c.objective is not None:
        model = "ridge regression" if c.objective.loss == "squared" else "classifier"
        return (
            f"With these {kept} columns a linear {model} reaches at least {percent(share)} of what all "
            f"{c.n_features} columns allow (no column at all: {percent(c.objective.lower / c.objective.empty)})."
            f"{_more_columns(c)}"
        )
    if what == "explained":
        best = "" if c.explainable is None else f" (any {kept} dimensions: at most {percent(c.explainable)})"
        these = "This column explains" if kept == 1 else f"These {kept} columns explain"
        return f"{these} {percent(share)} of the data{best}; about classes nothing is certified."
    labels = "of all rows, for these labels" if what == "all rows" else "whatever the labels are"
    about = "" if c.rows is None or what == "all rows" else f" among the {len(c.rows)} support vectors"
    return (
        f"In the worst case the gap between two classes{about} keeps {percent(np.sqrt(share))} of its width, "
        f"{labels}.{_more_columns(c, width=True)}"
    )


def _nothing(c: "Certificate") -> str:
    if c.kind == "estimate":
        return "A sketch of the data was measured, which is evidence and no proof: nothing is certified."
    if c.objective_ratio is not None:
        return (
            f"These {len(c.indices)} columns are hardly better than none: a linear model gains less than a tenth of "
            "what it gains with all."
        )
    if c.unseen:
        return "Nothing is certified: some columns are lost in the rounding of much longer ones."
    if c.rank < c.numerical_rank:
        return f"Only the {c.rank} leading dimensions of the data are preserved; no classifier is certified."
    return (
        f"These {len(c.indices)} columns lose a direction of the data, and whatever differs only along it: nothing is "
        "certified for all labels at once. With labels (certify with y and C) something may be."
    )


def percent(share: float, *, up: bool = False) -> str:
    """A share in per cent, never rounded up; with `up` never rounded down, for what is not exceeded."""
    value = 100.0 * float(share)
    digits = 0 if 1.0 <= value < 99.0 else 1
    rounded = np.ceil(value * 10**digits) if up else np.floor(value * 10**digits)
    return f"{rounded / 10**digits:.{digits}f} %"


def _more_columns(c: "Certificate", *, width: bool = False) -> str:
    """How many columns would be needed for a better verdict, about; `width` for shares of a width, not of a square."""
    share = c.share
    if share is None or share >= THRESHOLDS[0][0]:
        return ""
    needed = [(least, columns_needed(c, least)) for least, _ in reversed(THRESHOLDS[:2]) if share < least]
    needed = [(least, r) for least, r in needed if r < c.n_features]  # that all columns keep all goes without saying
    said = [f"{percent(np.sqrt(least) if width else least)} with about {r} columns" for least, r in needed]
    return f" It would be {' and '.join(said)}." if said else ""


def columns_needed(c: "Certificate", share: float) -> int:
    """About how many columns a share needs, from the share that these have: estimates, for planning.

    Spectral sparsification keeps ((1 - q) / (1 + q))^2 of squared margin over squared radius, with q = sqrt(l / r)
    guaranteed. Measured on documents and genes q falls like 1 / r, or faster, and that is taken here. The share of an
    objective grows about with the logarithm of the number of columns, up to 1 for all of them.
    """
    r, d, found = len(c.indices), c.n_features, _shares(c)
    now, what = max(found) if found else (0.0, "")
    if not now > 0.0 or r >= d:
        return d
    if what in ("objective", "explained"):
        return min(d, int(np.ceil(r * (d / r) ** np.clip((share - now) / (1.0 - now), 0.0, 1.0)))) if now < 1.0 else r
    factor = max(1.0, _q(min(now, 1.0)) / _q(share))
    return int(min(d, np.ceil(r * factor)))


def _q(share: float) -> float:
    root = float(np.sqrt(share))
    return (1.0 - root) / (1.0 + root)
