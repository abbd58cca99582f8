"""Selection by leverage-score sampling."""

from numbers import Real

from rarefy._parameters import one_of
from rarefy.core.linalg.spectrum import leading
from rarefy.core.sparsify.leverage import sample
from rarefy.exceptions import ParameterError
from rarefy.selection._base import SpectralSelector


class LeverageScoreSelector(SpectralSelector):
    """Feature selection by sampling in proportion to leverage scores.

    The leverage score of a feature is the squared norm of its row in the matrix V of right singular
    vectors: how much the feature contributes to directions of the data that few others carry.

    Parameters
    ----------
    n_features_to_select : int, float or None, default=None
        Number r of features to keep at the most, or a fraction of them; None keeps half.
    rank : int, float or None, default=None
        How many right singular vectors the scores are taken from; a float in (0, 1) takes as many as
        hold that share of the squared norm, None all.
    sketch_size : int or None, default=None
        Take the scores from a Gaussian sketch of this many rows.
    sampling : {"replacement", "poisson", "top"}, default="replacement"
        r independent draws (repeats add up, so fewer features may come back); each feature on its
        own with probability min(1, r p), at most r of them; or the r largest scores, unweighted
        and without a bound beforehand.
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
    selected_ : ndarray of shape (n_selected,)
        Kept features in the order in which they were drawn.
    weights_ : ndarray of shape (n_selected,)
        Their weights, aligned with `selected_`.
    certificate_ : Certificate
        What is guaranteed, measured and in words.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, when X has names that are all strings.

    See Also
    --------
    BSSSelector : Deterministic, with sharper bounds for the same number of features.

    References
    ----------
    [PaulMagdonIsmailDrineas2015], [Tropp2012]

    Examples
    --------
    >>> import numpy as np
    >>> from rarefy.selection import LeverageScoreSelector
    >>> X = np.random.default_rng(0).standard_normal((5, 400))
    >>> selector = LeverageScoreSelector(100, random_state=0).fit(X)
    >>> float(selector.scores_.sum().round(6))
    5.0
    """

    def __init__(
        self,
        n_features_to_select=None,
        *,
        rank=None,
        sketch_size=None,
        sampling="replacement",
        failure_probability=0.1,
        rescale=True,
        random_state=None,
    ):
        self.n_features_to_select = n_features_to_select
        self.rank = rank
        self.sketch_size = sketch_size
        self.sampling = sampling
        self.failure_probability = failure_probability
        self.rescale = rescale
        self.random_state = random_state

    def _check_parameters(self):
        super()._check_parameters()
        owner = type(self).__name__
        one_of("sampling", self.sampling, ("replacement", "poisson", "top"), owner)
        delta = self.failure_probability
        if not isinstance(delta, Real) or not 0.0 < delta < 1.0:
            raise ParameterError(f"failure_probability of {owner} must be a number in (0, 1); got {delta!r}.")

    def _dimensions(self, sigma, budget):
        return leading(sigma, self.rank)

    def _select(self, spec, budget, rng):
        selection = sample(spec.V.norms2, budget, self.sampling, rng)
        chance = None if self.sampling == "top" else self.failure_probability
        return selection, {"method": self.sampling, "failure_probability": chance}

    def _keep(self, spec):
        self.scores_ = spec.V.norms2
