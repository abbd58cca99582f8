"""A promise about the recall or the false alarms of a threshold, from held-out scores."""

from dataclasses import dataclass, fields
from typing import Any, Literal

import numpy as np

from rarefy._pictures import axes_of, data_frame
from rarefy._validation import check_array
from rarefy.certificates._equality import EqualByContent
from rarefy.certificates._html import certificate_html
from rarefy.certificates._json_values import checked_fields, flag, integer, number, numbers, plain, text
from rarefy.certificates._verdict import THRESHOLDS, Verdict
from rarefy.core.certificates.verify import Verification
from rarefy.core.linalg.rows import Array
from rarefy.core.ranking.promises import cases_needed, false_alarm_cut, order_confidence, recall_cut

Quantity = Literal["recall", "false_positive_rate"]
_NAMES = {"recall": "rare cases", "false_positive_rate": "other cases"}
_DERIVED = ("kind", "verdict", "sentence", "n_cases", "n_needed", "statement")


@dataclass(frozen=True, eq=False)
class RecallCertificate(EqualByContent):
    """What the rule ``score >= threshold`` is promised to find, or not to exceed, on data to come.

    The promise is about one model, which was not fitted on the cases whose scores are stored, and about future cases
    that are drawn independently from the same distribution as these. With the stated confidence, which is over the draw
    of the stored cases, the share of future rare cases that are found is at least `level` (or the share of other cases
    that are called rare at most `level`).

    Attributes
    ----------
    quantity : {"recall", "false_positive_rate"}
        What is promised.
    level : float
        The share that is promised.
    confidence : float
        With which probability, over held-out cases, the promise holds.
    threshold : float or None
        Cases with a score of at least this are called rare; None if nothing can be promised.
    order : int
        The place of the threshold among the scores, from below for recall and from above for false alarms; 0 if
        nothing can be promised.
    scores : ndarray of shape (n_cases,)
        Held-out scores of the class that the promise is about, ascending.
    cross_fitted : bool
        Whether the scores come from several models, each fitted without the cases it scores. Then the promise is an
        approximation: none of these models is the one that is used.
    n_others, n_others_called : int
        Held-out cases of the other class, and how many of them have a score of at least `threshold`; measured, not
        promised.

    See Also
    --------
    rarefy.ranking.certify_threshold : Makes one from scores of any model.

    Examples
    --------
    >>> import numpy as np
    >>> from rarefy.ranking import RecallCertificate, certify_threshold
    >>> made = certify_threshold(np.arange(100.0), np.repeat([0, 1], 50), rare_class=1, recall=0.8)
    >>> (made.threshold, made.order, made.n_needed)
    (55.0, 6, 14)
    >>> bool(RecallCertificate.from_dict(made.to_dict()).verify())
    True
    """

    quantity: Quantity
    level: float
    confidence: float
    threshold: float | None
    order: int
    scores: Array
    cross_fitted: bool
    n_others: int
    n_others_called: int

    @property
    def n_cases(self) -> int:
        """Number of cases that the promise rests on."""
        return len(self.scores)

    @property
    def n_needed(self) -> int:
        """Fewest cases with which this level can be promised with this confidence."""
        return cases_needed(self._wrong_side, self.confidence)

    @property
    def kind(self) -> str:
        """Kind of claim: "probabilistic", "estimate" for cross-fitted scores, or "none"."""
        return "none" if self.threshold is None else "estimate" if self.cross_fitted else "probabilistic"

    @property
    def verdict(self) -> Verdict:
        """The verdict by the promised share: of rare cases found, or of other cases left alone."""
        share = self.level if self.quantity == "recall" else 1.0 - self.level
        if self.threshold is None:
            return "none"
        return next((word for least, word in THRESHOLDS if share >= least), "none")

    @property
    def sentence(self) -> str:
        """The verdict in one sentence."""
        who, sure = _NAMES[self.quantity], f"{100 * self.confidence:.6g} % confidence"
        if self.threshold is None:
            return (
                f"Nothing can be promised with {sure} from {self.n_cases} {who}: a {self._goal} needs at least "
                f"{self.n_needed}."
            )
        about = "About " if self.cross_fitted else ""
        share = f"{100 * self.level:.6g} % of future {who}"
        if self.quantity == "recall":
            return f"{about or 'With '}{sure}: at least {share} score {self.threshold:.6g} or more and are found."
        return f"{about or 'With '}{sure}: at most {share} score {self.threshold:.6g} or more and are false alarms."

    @property
    def statement(self) -> str:
        """The certificate in words."""
        lines = [f"{self.verdict.capitalize()}: {self.sentence}"]
        if self.threshold is not None:
            end = "smallest" if self.quantity == "recall" else "largest"
            lines.append(
                f"The threshold is at number {self.order} of the {self.n_cases} {_NAMES[self.quantity]}' scores, "
                f"counted from the {end}."
            )
            other = "other cases" if self.quantity == "recall" else "rare cases"
            lines.append(f"Of {self.n_others} held-out {other}, {self.n_others_called} score as much (measured).")
        lines.append(
            "Assumed: future cases are independent and of the same distribution as these, which the model did not see."
            if not self.cross_fitted
            else "Scores are cross-fitted: each comes from a model fitted without that case, not from the final model, "
            "so that the promise is an approximation. For an exact one, call certify_threshold with scores of samples "
            "that were kept apart."
        )
        return "\n".join(lines)

    def verify(self, scores: Any = None) -> Verification:
        """Compute threshold and confidence again from the scores, by another route.

        Parameters
        ----------
        scores : array-like of shape (n_cases,) or None, default=None
            The held-out scores of the class that the promise is about, in any order, to compare with those that are
            stored; None means that the stored ones are taken as they are.

        Returns
        -------
        verification : Verification
            True in a condition if what is promised follows from the scores; with the `reason` if not.
        """
        faults = self._faults()
        if scores is not None and not faults:
            given = np.sort(check_array(scores, "scores", ensure_2d=False, dtype=np.float64).ravel())
            if not np.array_equal(given, self.scores):
                faults.append("the scores are not those that are stored")
        nothing = np.nan, np.nan
        return Verification(not faults, np.nan, nothing, 0, 0, 0.0, 0.0, "; ".join(faults), None)

    @property
    def _wrong_side(self) -> float:
        """The share of future cases that may be on the wrong side of the threshold."""
        return 1.0 - self.level if self.quantity == "recall" else self.level

    @property
    def _goal(self) -> str:
        if self.quantity == "recall":
            return f"recall of {100 * self.level:.6g} %"
        return f"false positive rate of {100 * self.level:.6g} %"

    def _faults(self) -> list[str]:
        """What of it is impossible, or does not follow from the stored scores."""
        m = len(self.scores)
        conditions = {
            "quantity is 'recall' or 'false_positive_rate'": self.quantity in _NAMES,
            "level and confidence are between 0 and 1": 0.0 < self.level < 1.0 and 0.0 < self.confidence < 1.0,
            "scores are finite and ascending": self.scores.ndim == 1
            and bool(np.all(np.isfinite(self.scores)) and np.all(np.diff(self.scores) >= 0.0)),
            "counts are possible": 0 <= self.order <= m and 0 <= self.n_others_called <= self.n_others,
            "there is a threshold if and only if there is a place": (self.threshold is None) == (self.order == 0),
        }
        wrong = [what for what, right in conditions.items() if not right]
        if wrong or self.threshold is None:
            return wrong
        reached = order_confidence(m, self._wrong_side, self.order)
        if not reached * (1.0 + 1e-9) >= self.confidence:
            wrong.append(f"the confidence at place {self.order} of {m} is {reached:.6g}, not {self.confidence:.6g}")
        # How many scores are on the wrong side of the threshold is counted, not looked up at a place.
        if self.quantity == "recall" and np.count_nonzero(self.scores < self.threshold) > self.order - 1:
            wrong.append(f"fewer than {m - self.order + 1} of the {m} scores reach the threshold")
        if self.quantity != "recall" and np.count_nonzero(self.scores >= self.threshold) > self.order - 1:
            wrong.append(f"more than {self.order - 1} of the {m} scores reach the threshold")
        return wrong

    def to_frame(self) -> Any:
        """Return the held-out cases that the promise rests on as a pandas data frame, one row for each.

        Returns
        -------
        frame : pandas.DataFrame
            With columns score, ascending, and called: whether the score is at least the threshold.
        """
        called = np.zeros(self.n_cases, dtype=bool) if self.threshold is None else self.scores >= self.threshold
        return data_frame({"score": self.scores, "called": called})

    def plot(self, ax: Any = None) -> Any:
        """Draw which share of the held-out cases a threshold calls rare, beside the promised share and its threshold.

        Parameters
        ----------
        ax : matplotlib axes or None, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        ax : matplotlib axes
            What was drawn on.
        """
        ax = axes_of(ax)
        share = 1.0 - np.arange(self.n_cases) / max(self.n_cases, 1)
        ax.plot(self.scores, share, drawstyle="steps-pre", color="C0", label=f"held-out {_NAMES[self.quantity]}")
        bound = "at least" if self.quantity == "recall" else "at most"
        ax.axhline(self.level, color="C1", linewidth=1, label=f"{bound} {self.level:.4g} of future ones")
        if self.threshold is not None:
            ax.axvline(self.threshold, color="0.35", linestyle="--", linewidth=1, label=f"from {self.threshold:.4g} on")
        ax.set(xlabel="threshold of the score", ylabel="share that is called rare", ylim=(0.0, 1.05))
        ax.legend(frameon=False)
        return ax

    def to_dict(self) -> dict[str, Any]:
        """Return all fields and what follows from them as plain values, ready for JSON.

        Returns
        -------
        values : dict
            By name.
        """
        return {name: plain(getattr(self, name)) for name in (*(f.name for f in fields(self)), *_DERIVED)}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "RecallCertificate":
        """Make a certificate from plain values; what follows from them is derived again.

        Parameters
        ----------
        values : dict
            What `to_dict` returned, as it is or read from JSON.

        Returns
        -------
        certificate : RecallCertificate
            The certificate.
        """
        return cls(**checked_fields(values, [f.name for f in fields(cls)], _convert, "recall certificate"))

    def __repr__(self) -> str:
        return (
            f"RecallCertificate({self.quantity}={self.level:.6g}, confidence={self.confidence:.6g}, "
            f"threshold={self.threshold}, n_cases={self.n_cases}, kind={self.kind!r})"
        )

    def __str__(self) -> str:
        return self.statement

    def _repr_html_(self) -> str:
        return certificate_html(self.verdict, self.kind, self.statement.splitlines())


def make_recall_certificate(
    cases: Array, others: Array, quantity: Quantity, level: float, confidence: float, *, cross_fitted: bool
) -> RecallCertificate:
    """The certificate of held-out scores of the class that is promised something, and of the other class."""
    cut = recall_cut if quantity == "recall" else false_alarm_cut
    threshold, order = cut(cases, level, confidence)
    found = None if order == 0 else threshold
    called = 0 if found is None else int(np.count_nonzero(others >= found))
    return RecallCertificate(
        quantity, level, confidence, found, order, np.sort(cases), cross_fitted, len(others), called
    )


def _convert(v: dict[str, Any]) -> None:
    """What was read, as a certificate holds it."""
    v["quantity"] = text(v["quantity"])
    if v["quantity"] not in _NAMES:
        raise ValueError(f"quantity must be 'recall' or 'false_positive_rate', not {v['quantity']!r}")
    v["level"], v["confidence"] = number(v["level"]), number(v["confidence"])
    v["threshold"] = None if v["threshold"] is None else number(v["threshold"])
    v["scores"], v["cross_fitted"] = numbers(v["scores"], 1), flag(v["cross_fitted"])
    for name in ("order", "n_others", "n_others_called"):
        v[name] = integer(v[name])
