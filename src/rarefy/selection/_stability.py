"""Stability of a selector over resamples."""

import html
from dataclasses import dataclass
from numbers import Integral, Real

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit, check_cv
from sklearn.utils import _safe_indexing, check_random_state, indexable
from sklearn.utils.multiclass import type_of_target

from rarefy._parameters import check_count
from rarefy._progress import progress_bar
from rarefy.core.statistics.stability import stability
from rarefy.exceptions import MissingExtraError, ParameterError


@dataclass(frozen=True, eq=False, repr=False)
class StabilityReport:
    """How often each feature is chosen, and how stable the choice is.

    Attributes
    ----------
    frequency : ndarray of shape (n_features,)
        Share of the resamples in which a feature was chosen.
    stability : float
        Index of Nogueira, Sechidis and Brown: 1 when all choices agree, 0 on average for random ones.
    confidence_interval : (float, float)
        Of the index. It is asymptotic: with few resamples it is too narrow (with ten, a nominal 95 % is nearer 87 %).
    confidence : float
        Its level.
    n_selected : ndarray of shape (n_splits,)
        How many features were chosen each time.
    feature_names : ndarray of shape (n_features,)
        Names, or numbers where the data have none.
    """

    frequency: np.ndarray
    stability: float
    confidence_interval: tuple[float, float]
    confidence: float
    n_selected: np.ndarray
    feature_names: np.ndarray

    def top(self, k=10):
        """The k most often chosen features as (name, frequency), equal ones in column order.

        Parameters
        ----------
        k : int, default=10
            How many.
        """
        check_count("k", k, "StabilityReport.top")
        order = np.argsort(-self.frequency, kind="stable")[:k]
        return [(self.feature_names[i], float(self.frequency[i])) for i in order]

    def to_dict(self):
        """All values as plain Python, ready for JSON."""
        return {
            "stability": self.stability,
            "confidence_interval": list(self.confidence_interval),
            "confidence": self.confidence,
            "n_selected": self.n_selected.tolist(),
            "frequency": self.frequency.tolist(),
            "feature_names": [str(name) for name in self.feature_names],
        }

    def plot(self, k=20, ax=None):
        """Draw the selection frequencies of the k most often chosen features.

        Parameters
        ----------
        k : int, default=20
            How many features.
        ax : matplotlib axes or None
            Where to draw; None makes a new figure.

        Returns
        -------
        ax : matplotlib axes
            What was drawn on.
        """
        top = self.top(k)
        if ax is None:
            try:
                from matplotlib.figure import Figure
            except ModuleNotFoundError as error:
                raise MissingExtraError('Pictures need matplotlib: pip install "rarefy[cli]"') from error
            ax = Figure(figsize=(6.4, 0.25 * k + 1.2), layout="constrained").add_subplot()
        names, values = zip(*top, strict=True)
        ax.barh(range(len(values)), values, color="#c8553d")
        ax.set_yticks(range(len(values)), [str(name) for name in names])
        ax.invert_yaxis()
        ax.set_xlim(0, 1)
        ax.set_xlabel("share of resamples in which the feature was chosen")
        ax.set_title(self._headline(), loc="left", fontsize=10)
        return ax

    def _headline(self):
        low, high = self.confidence_interval
        return f"stability {self.stability:.3f}, {100 * self.confidence:g} % interval {low:.3f} to {high:.3f}"

    def __repr__(self):
        return f"StabilityReport({self._headline()}, {len(self.n_selected)} resamples)"

    def __str__(self):
        kept = f"{self.n_selected.mean():.1f} of {len(self.frequency)} features chosen on average"
        rows = "\n".join(f"  {share:6.1%}  {name}" for name, share in self.top())
        return f"{self._headline()}\n{kept} over {len(self.n_selected)} resamples; most often:\n{rows}"

    def _repr_html_(self):
        rows = "".join(f"<tr><td>{html.escape(str(name))}</td><td>{share:.1%}</td></tr>" for name, share in self.top())
        table = f"<table><tr><th>feature</th><th>chosen</th></tr>{rows}</table>"
        return f"<div><strong>{self._headline()}</strong>{table}</div>"


def selection_stability(
    selector,
    X,
    y=None,
    n_splits=50,
    *,
    train_size=0.8,
    cv=None,
    confidence=0.95,
    n_jobs=None,
    random_state=None,
    verbose=0,
):
    """Fit a selector on many resamples and report how often each feature is chosen.

    Parameters
    ----------
    selector : estimator
        Any selector with `get_support`; it is cloned, and its random states are set for every resample.
    X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
        The data.
    y : array-like of shape (n_samples,) or None, default=None
        Labels, for supervised selectors; classes keep their shares in every resample.
    n_splits : int, default=50
        Number of resamples, at least 2.
    train_size : float or int, default=0.8
        Share (or number) of the rows in each resample, drawn without replacement.
    cv : cross-validation splitter, iterable or None, default=None
        Use its training sets instead of random ones.
    confidence : float, default=0.95
        Level of the confidence interval.
    n_jobs : int or None, default=None
        Processes; the result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seed of the resamples and of the selectors.
    verbose : int, default=0
        1 shows a progress bar.

    Returns
    -------
    report : StabilityReport
        Frequencies, stability index with confidence interval; text, HTML and picture.

    References
    ----------
    [NogueiraSechidisBrown2018]

    Examples
    --------
    >>> import rarefy
    >>> from rarefy.datasets import make_topics
    >>> from rarefy.selection import BSSSelector, RandomSelector
    >>> X = make_topics(40, 1000, random_state=0).data
    >>> stable = rarefy.selection_stability(BSSSelector(100), X, n_splits=10, random_state=0)
    >>> chance = rarefy.selection_stability(RandomSelector(100), X, n_splits=10, random_state=0)
    >>> stable.stability > 0.5, abs(chance.stability) < 0.05
    (True, True)
    """
    if not isinstance(n_splits, Integral) or n_splits < 2:
        raise ParameterError(f"n_splits of selection_stability must be an integer >= 2; got {n_splits!r}.")
    if not isinstance(confidence, Real) or not 0.0 < confidence < 1.0:
        raise ParameterError(f"confidence of selection_stability must lie in (0, 1); got {confidence!r}.")
    names = getattr(X, "columns", None)
    X, y = indexable(X.tocsr() if hasattr(X, "tocsr") else X, y)
    X = X if hasattr(X, "shape") else np.asarray(X)
    rng = check_random_state(random_state)
    splits = [train for train, _ in _splitter(cv, n_splits, train_size, y, rng).split(X, y)]
    if len(splits) < 2:
        raise ParameterError("cv of selection_stability must give at least two training sets; got one.")
    seeds = rng.randint(np.iinfo(np.int32).max, size=len(splits))
    jobs = (delayed(_choice)(selector, X, y, rows, seed) for rows, seed in zip(splits, seeds, strict=True))
    show = progress_bar("resampling", verbose)
    choices = []
    for choice in Parallel(n_jobs=n_jobs, return_as="generator")(jobs):
        choices.append(choice)
        if show is not None:
            show(len(choices), len(splits))
    d = X.shape[1]
    found = stability(choices, d, confidence)
    return StabilityReport(
        frequency=found.frequency,
        stability=found.index,
        confidence_interval=found.interval,
        confidence=confidence,
        n_selected=np.array([len(choice) for choice in choices]),
        feature_names=np.asarray(names) if names is not None else np.arange(d),
    )


def _splitter(cv, n_splits, train_size, y, rng):
    if cv is not None:
        return check_cv(cv, y)
    seed = rng.randint(np.iinfo(np.int32).max)
    classes = y is not None and type_of_target(y) in ("binary", "multiclass")
    kind = StratifiedShuffleSplit if classes else ShuffleSplit
    return kind(n_splits, train_size=train_size, random_state=seed)


def _choice(selector, X, y, rows, seed):
    """Indices of the features chosen on some rows."""
    selector = clone(selector)
    states = [
        name for name in sorted(selector.get_params()) if name == "random_state" or name.endswith("__random_state")
    ]
    selector.set_params(**{name: int(seed) for name in states})
    labels = None if y is None else _safe_indexing(y, rows)
    return np.flatnonzero(selector.fit(_safe_indexing(X, rows), labels).get_support())
