"""Thresholds with a promise, for the scores of any model."""

from typing import Any

import numpy as np
from sklearn.utils import check_consistent_length

from rarefy._fit import checked_arguments
from rarefy._parameters import SHARE
from rarefy._validation import check_array, check_labels
from rarefy.certificates._recall import RecallCertificate, make_recall_certificate
from rarefy.exceptions import DegenerateDataError, ParameterError


@checked_arguments(
    {
        "scores": ["array-like"],
        "y": ["array-like"],
        "recall": [SHARE, None],
        "false_positive_rate": [SHARE, None],
        "confidence": [SHARE],
        "rare_class": "no_validation",
        "cross_fitted": ["boolean"],
    }
)
def certify_threshold(
    scores: Any,
    y: Any,
    *,
    recall: float | None = None,
    false_positive_rate: float | None = None,
    confidence: float = 0.95,
    rare_class: Any = None,
    cross_fitted: bool = False,
) -> RecallCertificate:
    """Find the threshold that keeps a promise about new data, from held-out scores of any model.

    The rule is ``score >= threshold``. With probability `confidence` over the draw of the held-out cases, it finds at
    least the share `recall` of future rare cases; or calls at most the share `false_positive_rate` of the other cases.
    The proof is by order statistics and the binomial distribution, and needs no assumption about the scores.

    Parameters
    ----------
    scores : array-like of shape (n_samples,)
        Scores of samples that the model was not fitted on, larger for rarer ones.
    y : array-like of shape (n_samples,)
        Their labels, of two classes.
    recall : float or None, default=None
        Share of future rare cases to find, in (0, 1). Either this or `false_positive_rate` must be given.
    false_positive_rate : float or None, default=None
        Share of future other cases that may be called rare, in (0, 1).
    confidence : float, default=0.95
        Probability with which the promise holds, in (0, 1).
    rare_class : label or None, default=None
        The rare class; None means the less frequent one.
    cross_fitted : bool, default=False
        Whether the scores come from several models, as those of ``cross_val_predict``. The promise is then called an
        estimate.

    Returns
    -------
    certificate : RecallCertificate
        The threshold and what it promises; with too few cases there is no threshold, and the certificate says how many
        are needed.

    Raises
    ------
    ParameterError
        If an argument is out of range, or not exactly one of `recall` and `false_positive_rate` is given.
    DegenerateDataError
        If y has not two classes.

    See Also
    --------
    RankRC : Its `threshold` can be a promise, too.

    Examples
    --------
    >>> import numpy as np
    >>> from rarefy.ranking import certify_threshold
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([1, 0], [60, 940])
    >>> promise = certify_threshold(rng.standard_normal(1000) + 3 * y, y, recall=0.9)
    >>> print(promise.sentence)
    With 95 % confidence: at least 90 % of future rare cases score 1.71164 or more and are found.
    >>> print(certify_threshold([0.1, 0.2, 0.9], [0, 0, 1], recall=0.9).sentence)
    Nothing can be promised with 95 % confidence from 1 rare cases: a recall of 90 % needs at least 29.
    """
    if (recall is None) == (false_positive_rate is None):
        raise ParameterError("certify_threshold needs either recall or false_positive_rate, and not both.")
    scores = check_array(scores, "scores", ensure_2d=False, dtype=np.float64)
    if scores.ndim != 1:
        raise ParameterError(f"scores of certify_threshold must have one dimension; got shape {scores.shape}.")
    y = check_labels(y, "y of certify_threshold")
    check_consistent_length(scores, y)
    is_rare = rare_mask(y, rare_class, "certify_threshold")
    if recall is not None:
        return make_recall_certificate(
            scores[is_rare], scores[~is_rare], "recall", float(recall), float(confidence), cross_fitted=cross_fitted
        )
    assert false_positive_rate is not None  # checked above
    return make_recall_certificate(
        scores[~is_rare],
        scores[is_rare],
        "false_positive_rate",
        float(false_positive_rate),
        float(confidence),
        cross_fitted=cross_fitted,
    )


def rare_mask(y: Any, rare_class: Any, owner: str) -> Any:
    """Which labels are of the rare class, by default the less frequent one of two."""
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) != 2:
        raise DegenerateDataError(f"{owner} needs labels of two classes; y has {len(classes)}.")
    if rare_class is None:
        counts = np.bincount(codes)
        return codes == (0 if counts[0] < counts[1] else 1)
    if np.ndim(rare_class) or rare_class not in classes:
        raise ParameterError(f"rare_class of {owner} must be None or one of {classes.tolist()}; got {rare_class!r}.")
    return classes[codes] == rare_class
