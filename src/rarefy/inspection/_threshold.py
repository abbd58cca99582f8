"""A picture of what a threshold finds and what it costs."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import check_is_fitted

from rarefy._pictures import axes_of
from rarefy._validation import check_array, check_labels
from rarefy.certificates import RecallCertificate
from rarefy.core.linalg.rows import Array
from rarefy.exceptions import ParameterError
from rarefy.inspection._display import Display
from rarefy.ranking._certify_threshold import rare_mask

_CURVES = {"precision": ("precision", "C0"), "recall": ("recall", "C1"), "alarms": ("share of alarms", "C2")}
_NAME = "ThresholdDisplay"


class ThresholdDisplay(Display):
    """Precision, recall and the share of alarms against the threshold.

    Precision is the share of rare samples among those that are called rare, recall the share of rare samples that are
    called so, and the share of alarms that of all samples. At each of the thresholds these are for the rule
    ``score >= threshold``.

    Parameters
    ----------
    thresholds : ndarray of shape (n_thresholds,)
        All different scores, ascending.
    precision, recall, alarms : ndarrays of shape (n_thresholds,)
        What the rule reaches at each of them.
    threshold : float or None, default=None
        The threshold to mark.
    at_threshold : dict of str to float or None, default=None
        What it reaches, by "precision", "recall" and "alarms".
    threshold_certificate : RecallCertificate or None, default=None
        What it promises.

    Attributes
    ----------
    lines_ : dict of str to matplotlib Line2D
        The curves by name.
    threshold_line_ : matplotlib Line2D or None
        The line at the threshold.
    ax_ : matplotlib axes
        What was drawn on.
    figure_ : matplotlib figure
        Its figure.

    See Also
    --------
    rarefy.ranking.certify_threshold : Finds a threshold that keeps a promise.
    sklearn.metrics.PrecisionRecallDisplay : Precision against recall.

    Examples
    --------
    >>> import numpy as np
    >>> from rarefy.inspection import ThresholdDisplay
    >>> from rarefy.ranking import certify_threshold
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([1, 0], [60, 940])
    >>> scores = rng.standard_normal(1000) + 3 * y
    >>> promise = certify_threshold(scores, y, recall=0.9)
    >>> display = ThresholdDisplay.from_predictions(y, scores, threshold=promise)
    >>> print(display.threshold_line_.get_label())
    threshold 1.71: precision 0.61, recall 0.98
    promised: recall of at least 90 %, with 95 % confidence
    """

    def __init__(
        self,
        *,
        thresholds: Any,
        precision: Any,
        recall: Any,
        alarms: Any,
        threshold: float | None = None,
        at_threshold: dict[str, float] | None = None,
        threshold_certificate: RecallCertificate | None = None,
    ) -> None:
        self.thresholds = thresholds
        self.precision = precision
        self.recall = recall
        self.alarms = alarms
        self.threshold = threshold
        self.at_threshold = at_threshold
        self.threshold_certificate = threshold_certificate

    def plot(self, ax: Any = None, *, curves: Sequence[str] = ("precision", "recall")) -> Self:
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib axes or None, default=None
            Where to draw; None makes a new figure.
        curves : sequence of {"precision", "recall", "alarms"}, default=("precision", "recall")
            Which ones.

        Returns
        -------
        display : ThresholdDisplay
            The display, with what was drawn.
        """
        unknown = [name for name in curves if name not in _CURVES]
        if unknown or isinstance(curves, str) or not len(curves):
            raise ParameterError(f"curves of {_NAME} must be one or more of {list(_CURVES)}; got {curves!r}.")
        drawn = axes_of(ax)
        self._store_axes(drawn, ax)
        self.lines_, self.threshold_line_ = {}, None
        for name in curves:
            label, colour = _CURVES[name]
            # Between two scores a threshold does what it does at the upper one.
            (self.lines_[name],) = drawn.plot(
                self.thresholds, getattr(self, name), color=colour, drawstyle="steps-pre", label=label
            )
        if self.threshold is not None:
            self.threshold_line_ = drawn.axvline(
                self.threshold, color="0.35", linestyle="--", linewidth=1, label=self._label(curves)
            )
        elif self.threshold_certificate is not None:
            drawn.plot([], [], " ", label=_promise(self.threshold_certificate))
        drawn.set(xlabel="threshold of the score", ylabel="share", ylim=(0.0, 1.05))
        # Curves fill the axes, so that there is no room for words inside.
        drawn.legend(frameon=False, loc="lower left", bbox_to_anchor=(0.0, 1.0), fontsize=9, borderaxespad=0.2)
        return self

    def _label(self, curves: Sequence[str]) -> str:
        """The threshold, what it reaches on these samples, and what it promises."""
        reached = self.at_threshold or {}
        known = [f"{_CURVES[name][0]} {reached[name]:.2f}" for name in curves if np.isfinite(reached.get(name, np.nan))]
        label = f"threshold {self.threshold:.3g}" + (f": {', '.join(known)}" if known else "")
        return label if self.threshold_certificate is None else f"{label}\n{_promise(self.threshold_certificate)}"

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        scores: Any,
        rare_class: Any = None,
        threshold: Any = None,
        *,
        curves: Sequence[str] = ("precision", "recall"),
        ax: Any = None,
    ) -> Self:
        """Draw the curves of given scores.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
            Labels of two classes.
        scores : array-like of shape (n_samples,)
            Scores by any model, larger for rarer samples.
        rare_class : label or None, default=None
            The rare class; None means the less frequent one.
        threshold : float, RecallCertificate or None, default=None
            What to mark: a number above which scores are called rare, or a promise, from whose threshold on they are.
        curves : sequence of {"precision", "recall", "alarms"}, default=("precision", "recall")
            Which curves.
        ax : matplotlib axes or None, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        display : ThresholdDisplay
            The display, with what was drawn.
        """
        promise = threshold if isinstance(threshold, RecallCertificate) else None
        cut = threshold if promise is None else promise.threshold
        y_true, scores = _checked(y_true, scores)
        is_rare = rare_mask(y_true, rare_class, _NAME)
        if cut is not None and not np.isfinite(cut):
            raise ParameterError(f"threshold of {_NAME} must be a finite number; got {cut!r}.")
        called = None if cut is None else scores > cut if promise is None else scores >= cut
        return cls(
            **_along(scores, is_rare),
            threshold=None if cut is None else float(cut),
            at_threshold=None if called is None else _reached(called, is_rare),
            threshold_certificate=promise,
        ).plot(ax, curves=curves)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, curves: Sequence[str] = ("precision", "recall"), ax: Any = None
    ) -> Self:
        """Draw the curves of a fitted ranker, and its threshold.

        Parameters
        ----------
        estimator : RankRC, RankRCCV or a pipeline that ends with one
            The fitted ranker.
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or None
            Samples; those of `fit` give curves that are too good. None takes the `held_out_scores_` of a RankRCCV.
        y : array-like of shape (n_samples,)
            Their labels; those of `fit` if X is None.
        curves : sequence of {"precision", "recall", "alarms"}, default=("precision", "recall")
            Which curves.
        ax : matplotlib axes or None, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        display : ThresholdDisplay
            The display, with what was drawn.
        """
        check_is_fitted(estimator)
        ranker = estimator[-1] if isinstance(estimator, Pipeline) else estimator
        if not all(hasattr(ranker, name) for name in ("score_samples", "threshold_", "rare_class_")):
            raise ParameterError(f"{_NAME} needs a RankRC or RankRCCV; got {type(ranker).__name__}.")
        scores = _held_out_scores(ranker) if X is None else estimator.score_samples(X)
        y = check_labels(y, "y")
        check_consistent_length(scores, y)
        scored = np.isfinite(scores)  # held-out scores are NaN for samples in no fold
        promise = ranker.threshold_certificate_
        threshold = ranker.threshold_ if promise is None else promise
        return cls.from_predictions(y[scored], scores[scored], ranker.rare_class_, threshold, curves=curves, ax=ax)


def _held_out_scores(ranker: Any) -> Array:
    if not hasattr(ranker, "held_out_scores_"):
        raise ParameterError(
            f"X of {_NAME}.from_estimator may be None for a RankRCCV, which has held_out_scores_; "
            f"{type(ranker).__name__} has none. Pass samples that it was not fitted on."
        )
    return np.asarray(ranker.held_out_scores_)


def _checked(y_true: Any, scores: Any) -> tuple[Any, Array]:
    scores = check_array(scores, "scores", ensure_2d=False, dtype=np.float64)
    if scores.ndim != 1:
        raise ParameterError(f"scores of {_NAME} must have one dimension; got shape {scores.shape}.")
    y_true = check_labels(y_true, "y_true")
    check_consistent_length(scores, y_true)
    return y_true, scores


def _along(scores: Array, is_rare: Any) -> dict[str, Array]:
    """All different scores, ascending, and what a threshold at each of them reaches."""
    thresholds, at = np.unique(scores, return_inverse=True)
    # Counts of samples with at least this score: sums from the highest score down.
    called = np.bincount(at)[::-1].cumsum()[::-1]
    found = np.bincount(at, weights=is_rare)[::-1].cumsum()[::-1]
    return {
        "thresholds": thresholds,
        "precision": found / called,
        "recall": found / is_rare.sum(),
        "alarms": called / len(scores),
    }


def _reached(called: Any, is_rare: Any) -> dict[str, float]:
    """What calling some samples rare reaches; without any there is no precision."""
    found, alarms = int(np.sum(called & is_rare)), int(np.sum(called))
    return {
        "precision": found / alarms if alarms else float("nan"),
        "recall": found / int(np.sum(is_rare)),
        "alarms": alarms / len(called),
    }


def _promise(certificate: RecallCertificate) -> str:
    """What is promised, in few words."""
    goal = {"recall": "recall of at least", "false_positive_rate": "false positive rate of at most"}
    what = f"{goal[certificate.quantity]} {100 * certificate.level:.6g} %"
    sure = f"{100 * certificate.confidence:.6g} % confidence"
    if certificate.threshold is None:
        return f"not promised: {what}, which needs {certificate.n_needed} cases for {sure}"
    # Scores of several models promise something about none of them exactly.
    return f"promised: {what}, with {'about ' if certificate.cross_fitted else ''}{sure}"
