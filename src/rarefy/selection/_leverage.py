"""Selection by leverage-score sampling."""

from numbers import Integral
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.utils._param_validation import StrOptions

from rarefy._parameters import COUNT, SHARE
from rarefy.core.linalg.rows import Array, Rows
from rarefy.core.linalg.spectrum import Decomposition, Spectrum, resolve_rank
from rarefy.core.sparsify import Selection
from rarefy.core.sparsify.adaptive import adaptive_columns
from rarefy.core.sparsify.leverage import sample
from rarefy.selection._base import N_FEATURES
from rarefy.selection._spectral import Choice, SpectralSelector

_SHORTFALL = {
    "replacement": "some were drawn several times, and their weights account for it. Ask for more features, or set "
    "sampling='top', which keeps as many as are asked for.",
    "poisson": "the number of features drawn is random. Ask for more features, or set sampling='top', which keeps as "
    "many as are asked for.",
    "top": "",
    "adaptive": "there are no more dimensions to choose a column for. Ask for fewer, or set another sampling.",
}


class LeverageScoreSelector(SpectralSelector):
    """Feature selection by sampling in proportion to leverage scores.

    The leverage score of a feature is the squared norm of its row in the matrix V of right singular
    vectors: how much the feature contributes to directions of the data that few others carry.

    Parameters
    ----------
    n_features_to_select : int, float or None, default=None
        Number r of features to draw; a float in (0, 1) is a share of the features, None means half of them and at
        most 100. Repeated draws are counted once, so that fewer than r may be kept, with a warning if r was given.
    rank : int, float or None, default=None
        How many right singular vectors the scores are taken from; a float in (0, 1) takes as many as
        hold that share of the squared norm, None all.
    sketch_size : int or None, default=None
        Take the scores from a Gaussian sketch of this many rows; the certificate is then an estimate and no proof.
        None takes them from the data.
    sampling : {"replacement", "poisson", "top", "adaptive"}, default="replacement"
        r independent draws (the squared weights of a feature drawn repeatedly add up); each feature independently
        with probability min(1, r p), at most r of them; the r largest scores, unweighted
        and without a bound beforehand; or, for r up to the rank, one column for each of the r leading dimensions with
        scores that are brought up to date after every choice: what r columns leave of the data is then at most r + 1
        times the least that r dimensions leave. Nothing is random there, and weights are 1.
    failure_probability : float, default=0.1
        Probability with which the bound in the certificate may fail. The distortion measured
        afterwards holds in any case.
    rescale : bool, default=True
        Whether `transform` multiplies each kept column by its weight. The certificate is about the
        rescaled columns.
    random_state : int, RandomState instance or None, default=None
        Seed of the sampling and of the sketch.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        Leverage scores; they add up to the rank.
    support_ : ndarray of shape (n_features,), bool
        Mask of the kept features.
    selection_order_ : ndarray of shape (n_selected,)
        Indices of the kept features in the order in which they were first drawn.
    weights_ : ndarray of shape (n_selected,)
        Weights of the kept features, in the order of the columns: aligned with `get_feature_names_out()` and with
        what `transform` returns.
    certificate_ : Certificate
        What is guaranteed, measured and in words. Its `indices` and `weights` are in the order of selection.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, when X has names that are all strings.

    See Also
    --------
    BSSSelector : Deterministic, with sharper bounds for the same number of features.
    SupportVectorSelector : The supervised form.

    References
    ----------
    [CortinovisKressner2024] A. Cortinovis and D. Kressner, Adaptive randomized pivoting for column subset selection,
    DEIM, and low-rank approximation, 2024.

    [PaulMagdonIsmailDrineas2015] S. Paul, M. Magdon-Ismail and P. Drineas, Feature selection for linear SVM with
    provable guarantees, 2015.

    [Tropp2012] J. A. Tropp, User-friendly tail bounds for sums of random matrices, 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from rarefy.selection import LeverageScoreSelector
    >>> X = np.random.default_rng(0).standard_normal((5, 400))
    >>> selector = LeverageScoreSelector(100, sampling="top").fit(X)
    >>> selector.transform(X).shape
    (5, 100)
    >>> float(selector.scores_.sum().round(6))
    5.0
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_features_to_select": N_FEATURES,
        "rank": [COUNT, SHARE, None],
        "sketch_size": [COUNT, None],
        "sampling": [StrOptions({"replacement", "poisson", "top", "adaptive"})],
        "failure_probability": [SHARE],
        "rescale": ["boolean"],
        "random_state": ["random_state"],
    }

    scores_: Array

    def __init__(
        self,
        n_features_to_select: float | None = None,
        *,
        rank: float | None = None,
        sketch_size: int | None = None,
        sampling: Literal["replacement", "poisson", "top", "adaptive"] = "replacement",
        failure_probability: float = 0.1,
        rescale: bool = True,
        random_state: Any = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.rank = rank
        self.sketch_size = sketch_size
        self.sampling = sampling
        self.failure_probability = failure_probability
        self.rescale = rescale
        self.random_state = random_state

    def _n_needed(self, budget: int) -> int | None:
        if self.sampling == "adaptive" and self.rank is None:
            return budget
        return int(self.rank) if isinstance(self.rank, Integral) else None

    def _n_dimensions(self, whole: Decomposition, budget: int) -> int:
        wanted = resolve_rank(whole.sigma, self.rank)
        return min(wanted, budget) if self.sampling == "adaptive" else wanted

    def _choose(self, X: Rows, spec: Spectrum, budget: int, rng: np.random.Generator) -> Choice:
        if self.sampling == "adaptive":
            columns = adaptive_columns(X, spec.V)
            return Choice(
                Selection(columns, np.ones(len(columns))), "adaptive", _SHORTFALL["adaptive"], weighting="unit"
            )
        return Choice(
            sample(spec.V.norms2, budget, self.sampling, rng),
            self.sampling,
            _SHORTFALL[self.sampling],
            weighting="unit" if self.sampling == "top" else "own",
            failure_probability=None if self.sampling == "top" else self.failure_probability,
        )

    def _scores(self, spec: Spectrum) -> Array:
        return spec.V.norms2
