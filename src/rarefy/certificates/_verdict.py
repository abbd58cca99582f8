"""What a certificate is worth, in one word and one sentence that a practitioner understands."""

from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from rarefy.certificates._certificate import Certificate

Verdict = Literal["strong", "useful", "weak", "none"]

THRESHOLDS: tuple[tuple[float, Verdict], ...] = ((0.9, "strong"), (0.5, "useful"), (0.1, "weak"))


def share_of(c: "Certificate") -> float | None:
    """The best certified share: of an objective, of squared margin over squared radius, of what can be explained."""
    if c.objective_ratio is not None:
        return c.objective_ratio
    if c.kind in ("none", "estimate"):
        return None
    if c.margin_floor is not None:
        return margin_share(c)
    return c.explained_ratio


def margin_share(c: "Certificate") -> float:
    """What is kept of the squared margin, beside a radius that may have grown: no common factor of columns helps."""
    low, high = c.eigenvalues
    return low / max(1.0, high)


def verdict_of(share: float | None) -> Verdict:
    """The word for a share."""
    if share is None:
        return "none"
    return next((word for least, word in THRESHOLDS if share >= least), "none")


def headline(c: "Certificate") -> str:
    """The verdict in one sentence."""
    kept = len(c.indices)
    if c.objective_ratio is not None and c.objective is not None:
        what = "ridge regression" if c.objective.loss == "squared" else "classifier"
        return (
            f"With these {kept} columns a linear {what} reaches at least {_percent(c.objective_ratio)} of what all "
            f"{c.n_features} columns allow.{_more_columns(c)}"
        )
    if c.kind == "estimate":
        return "A sketch of the data was measured, which is evidence and no proof: nothing is certified."
    if c.margin_floor is not None:
        return (
            f"In the worst case the gap between two classes keeps {_percent(np.sqrt(margin_share(c)))} of its width, "
            f"whatever the labels are.{_more_columns(c)}"
        )
    if c.explained_ratio is not None and c.explained is not None and c.kind != "none":
        return (
            f"These {kept} columns explain {_percent(c.explained)} of the data, {_percent(c.explained_ratio)} of what "
            f"any {kept} dimensions could; about classes nothing is certified."
        )
    if c.unseen:
        return "Nothing is certified: some columns are lost in the rounding of much longer ones."
    if c.rank < c.numerical_rank:
        return f"Only the {c.rank} leading of {c.numerical_rank} dimensions are preserved; no classifier is certified."
    return (
        f"These {kept} columns lose a direction of the data, and whatever differs only along it: nothing is certified "
        "for all labels at once. With labels (certify with y and C) something may be."
    )


def _percent(share: float) -> str:
    """A share in per cent, never rounded up."""
    value = 100.0 * float(share)
    digits = 0 if 1.0 <= value < 99.0 else 1
    return f"{np.floor(value * 10**digits) / 10**digits:.{digits}f} %"


def _more_columns(c: "Certificate") -> str:
    """How many columns would be needed for a better verdict, about."""
    share = c.share
    if share is None or share >= THRESHOLDS[0][0]:
        return ""
    needed = [(least, columns_needed(c, least)) for least, _ in reversed(THRESHOLDS[:2]) if share < least]
    said = [f"{'half' if least == 0.5 else _percent(least)} with about {r}" for least, r in needed]
    return f" It would be {' and '.join(said)} columns." if said else ""


def columns_needed(c: "Certificate", share: float) -> int:
    """About how many columns a share needs, from the share that these have.

    Of spectral sparsification the squared margin over the squared radius is known to keep ((1 - q) / (1 + q))^2 with
    q = sqrt(l / r). The l that explains what was measured is taken for the one that explains the rest. All columns
    keep everything.
    """
    now = c.share
    if now is None or not now > 0.0:
        return c.n_features
    q, wanted = (_q(min(now, 1.0 - 1e-12)), _q(share))
    return int(min(c.n_features, max(len(c.indices), np.ceil(len(c.indices) * (q / wanted) ** 2))))


def _q(share: float) -> float:
    root = float(np.sqrt(share))
    return (1.0 - root) / (1.0 + root)
