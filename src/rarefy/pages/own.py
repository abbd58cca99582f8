"""One page for one's own data, from a fitted estimator: to look at in a notebook, or to save."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from html import escape
from os import PathLike
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.feature_selection import SelectorMixin
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import check_is_fitted

import rarefy
from rarefy._files import write_atomically
from rarefy._text_columns import about_columns
from rarefy._validation import check_array, check_labels
from rarefy.certificates import Certificate, SubsetCertificate
from rarefy.certificates._fingerprint import fingerprint
from rarefy.core.linalg.rows import Array
from rarefy.exceptions import MissingExtraError, ParameterError
from rarefy.ranking import RankRC, RankRCCV
from rarefy.ranking._scoring import recall_at

_FOLDS = 5
_SEED = 0


class Report:
    """A page as text: shown in a notebook, or saved as one file that loads nothing from elsewhere.

    Parameters
    ----------
    html : str
        The page.

    See Also
    --------
    report : Makes one.

    Examples
    --------
    >>> from rarefy.pages.own import Report
    >>> Report("<!doctype html><title>empty</title>")
    Report(35 characters)
    """

    def __init__(self, html: str) -> None:
        self.html = html

    def save(self, path: str | PathLike[str]) -> None:
        """Write the page, completely or not at all.

        Parameters
        ----------
        path : str or path-like
            The file.
        """
        write_atomically(path, self.html)

    def _repr_html_(self) -> str:
        # In a frame, so that neither the page's style nor its scripts meet those of the notebook.
        return (
            f'<iframe srcdoc="{escape(self.html)}" title="Report of rarefy" sandbox="allow-scripts allow-downloads" '
            'style="width: 100%; height: 45rem; border: 1px solid #888"></iframe>'
        )

    def __repr__(self) -> str:
        return f"Report({len(self.html)} characters)"


def report(
    model: Any, X: Any, y: Any = None, path: str | PathLike[str] | None = None, *, feature_names: Any = None
) -> Report:
    """Make a page about a fitted selector or ranker and the data that it was fitted on.

    Parameters
    ----------
    model : selector or RankRC or RankRCCV
        A fitted selector of this library, for example BestSubsetSelector or BSSSelector, or a fitted ranker.
    X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
        The data that it was fitted on. Names of a data frame's columns are shown.
    y : array-like of shape (n_samples,) or None, default=None
        The target. Selectors that were fitted without one may have it here, to see how well their columns predict it.
    path : str, path-like or None, default=None
        Where to write the page; None does not write it.
    feature_names : array-like of str or None, default=None
        Names of the columns of data that have none.

    Returns
    -------
    report : Report
        The page, with `save`; a notebook shows it.

    See Also
    --------
    certify : What is guaranteed about a choice of columns.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> import rarefy
    >>> from rarefy.selection import BestSubsetSelector
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> report = rarefy.report(BestSubsetSelector(4).fit(X, y), X, y)
    >>> "proline" in report.html
    True
    """
    report = page_of(model, X, y, feature_names, Origin())
    if path is not None:
        report.save(path)
    return report


@dataclass(frozen=True)
class Origin:
    """Where data come from, as the page says it."""

    source: str = "arrays in Python"
    target: str | None = None
    command: str | None = None
    """What makes the same page again; None means calls in Python."""


def page_of(model: Any, X: Any, y: Any, feature_names: Any, origin: Origin) -> Report:
    """The page of a fitted selector or ranker."""
    make: Callable[[Any, Any, Any, Origin], str]
    if isinstance(model, RankRC | RankRCCV):
        make = _ranking
    elif isinstance(model, SelectorMixin):
        make = partial(_selection, feature_names)
    else:
        raise ParameterError(f"model of report must be a selector, RankRC or RankRCCV; got {type(model).__name__}.")
    check_is_fitted(model)
    try:
        return Report(make(model, X, y, origin))
    except (TypeError, ValueError) as error:
        clearer = about_columns(error, "report", X)
        if clearer is not None:
            raise clearer from error
        raise
    except ModuleNotFoundError as error:
        raise MissingExtraError(f'Pages need {error.name}: pip install "rarefy[cli]"') from error


def _selection(names: Any, model: Any, X: Any, y: Any, origin: Origin) -> str:
    from rarefy.pages.html import render  # jinja2 is an extra
    from rarefy.pages.selection import ChosenColumns, selection_values

    width = getattr(model, "n_features_in_", None)
    names = getattr(X, "columns", None) if names is None else names
    X = check_array(X, accept_sparse=("csr", "csc"), dtype=(np.float64, np.float32))
    if X.shape[1] != width:
        raise ParameterError(
            f"X of report must have the {width} columns that the model was fitted on; got {X.shape[1]}."
        )
    if names is not None and len(names) != width:
        raise ParameterError(f"feature_names of report must name the {width} columns of X; got {len(names)} names.")
    y = None if y is None else np.asarray(y)
    check_consistent_length(X, y)
    kept = np.asarray(getattr(model, "selection_order_", np.flatnonzero(model.get_support())))
    certificate = getattr(model, "certificate_", None)
    if not isinstance(certificate, Certificate | SubsetCertificate):
        certificate = rarefy.certify(X, model.get_support())
    chosen = ChosenColumns(
        X=X,
        y=y,
        names=[f"column {j}" for j in range(width)] if names is None else [str(name) for name in names],
        kept=kept,
        selector=model,
        certificate=certificate,
        source=origin.source,
        target=origin.target,
        commands=(origin.command or _code(model, "" if y is None else ", y"),),
    )
    return render("selection.html", **selection_values(chosen))


def _ranking(model: RankRC | RankRCCV, X: Any, y: Any, origin: Origin) -> str:
    from rarefy.pages.html import render
    from rarefy.pages.ranking import FINGERPRINT, RankedCases, other_class, ranking_values, settings_of

    if y is None:
        raise ParameterError("y of report must be the classes that the ranker was fitted on; got None.")
    y = check_labels(y, "y of report")
    check_consistent_length(X, y)
    scores = model.held_out_scores_ if isinstance(model, RankRCCV) else _held_out_scores(model, X, y)
    if len(scores) != len(y):
        raise ParameterError(f"y of report must have the {len(scores)} samples of the fit; got {len(y)}.")
    X = check_array(X, accept_sparse="csr", dtype=(np.float64, np.float32))
    data = ((FINGERPRINT, str(fingerprint(X))),)
    is_rare = y == model.rare_class_
    cases = RankedCases(
        is_rare=is_rare,
        scores=scores,
        rare_class=model.rare_class_,
        other_class=other_class(model, model.rare_class_),
        threshold=float(model.threshold_),
        promise=model.threshold_certificate_,
        measures=_measures(is_rare, scores),
        source=origin.source,
        target=origin.target,
        settings=(*settings_of(model), *data),
        commands=(origin.command or _code(model, ", y"),),
    )
    return render("ranking.html", **ranking_values(cases))


def _held_out_scores(model: RankRC, X: Any, y: Any) -> Array:
    """Scores by copies that were fitted without the rows that they score."""
    if model.kernel == "precomputed" or not isinstance(model.basis, str | int | np.integer):
        raise ParameterError("report needs rankers of parts of the data: pass a RankRCCV, or another kernel or basis.")
    X = check_array(X, accept_sparse="csr", dtype=(np.float64, np.float32))
    fewest = int(np.unique(y, return_counts=True)[1].min())
    if fewest < 2:
        raise ParameterError("y of report must have at least two samples of each class, to hold some out.")
    scores = np.full(len(y), np.nan)
    plain = clone(model).set_params(threshold="frequency", alpha=model.alpha_)  # a promise would hold out once more
    for train, test in StratifiedKFold(min(_FOLDS, fewest), shuffle=True, random_state=_SEED).split(X, y):
        scores[test] = clone(plain).fit(X[train], y[train]).score_samples(X[test])
    return scores


def _measures(is_rare: Any, scores: Array) -> dict[str, float]:
    usable = np.isfinite(scores)
    rare, ones = is_rare[usable], np.ones(int(usable.sum()))
    return {
        "area under the ROC curve": float(roc_auc_score(rare, scores[usable])),
        "average precision": float(average_precision_score(rare, scores[usable])),
        "share of rare cases in the highest 1 %": recall_at(rare.astype(np.intp), scores[usable], ones, 0.01),
    }


def _code(model: Any, more: str) -> str:
    """The calls that make the same page."""
    return f"model = {model!r}.fit(X{more})\nrarefy.report(model, X{more}).save('report.html')"
