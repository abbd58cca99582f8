"""Selection by spectral sparsification."""

import warnings
from numbers import Integral

import numpy as np

from rarefy._parameters import one_of
from rarefy._progress import progress_bar
from rarefy.core.linalg.spectrum import leading, residual_norms2
from rarefy.core.sparsify.bss import bss, dual_set
from rarefy.exceptions import ParameterError, TruncatedRankWarning
from rarefy.selection._base import SpectralSelector


class BSSSelector(SpectralSelector):
    """Deterministic feature selection that preserves the geometry of the rows.

    Chooses and rescales at most r columns so that the eigenvalues of V'RR'V, with V the right
    singular vectors of X, stay within (1 ± sqrt(l/r))². Margins, enclosing balls and ridge risks of
    linear models then change by factors that the certificate states.

    Parameters
    ----------
    n_features_to_select : int, float or None, default=None
        Number r of features to keep at the most, or a fraction of them; None keeps half. The
        guarantee needs more features than dimensions and becomes useful from twice as many on.
    rank : int, float or None, default=None
        How many right singular vectors to preserve, fewer than r; a float in (0, 1) takes as many as
        hold that share of the squared norm. None preserves all dimensions of the data. Where r does
        not allow it, the r // 2 leading ones are preserved, with a warning.
    sketch_size : int or None, default=None
        Work on a Gaussian sketch of this many rows: for many rows, at the price of the proof.
    method : {"single", "dual"}, default="single"
        "dual" gives up the upper eigenvalue bound and bounds what lies outside the preserved
        dimensions instead: the choice when r is smaller than the rank.
    rescale : bool, default=True
        Whether `transform` multiplies each kept column by its weight. The certificate is about the
        rescaled columns.
    random_state : int, RandomState instance or None, default=None
        Seed of the sketch; nothing else is random.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    support_ : ndarray of shape (n_features,), bool
        Mask of the kept features.
    selected_ : ndarray of shape (n_selected,)
        Kept features in the order of selection.
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
    LeverageScoreSelector : Sampling from the same vectors; faster, guaranteed with probability.
    SupportVectorSelector : The supervised form.

    References
    ----------
    [BatsonSpielmanSrivastava2009], [PaulMagdonIsmailDrineas2015], [BoutsidisDrineasMagdonIsmail2014]

    Examples
    --------
    >>> import numpy as np
    >>> from rarefy.selection import BSSSelector
    >>> X = np.random.default_rng(0).standard_normal((5, 400))
    >>> selector = BSSSelector(40).fit(X)
    >>> selector.transform(X).shape
    (5, 40)
    >>> bool(selector.certificate_.verify(X))
    True
    """

    def __init__(
        self,
        n_features_to_select=None,
        *,
        rank=None,
        sketch_size=None,
        method="single",
        rescale=True,
        random_state=None,
        verbose=0,
    ):
        self.n_features_to_select = n_features_to_select
        self.rank = rank
        self.sketch_size = sketch_size
        self.method = method
        self.rescale = rescale
        self.random_state = random_state
        self.verbose = verbose

    def _check_parameters(self):
        super()._check_parameters()
        one_of("method", self.method, ("single", "dual"), type(self).__name__)

    def _dimensions(self, sigma, budget):
        wanted = leading(sigma, self.rank)
        if isinstance(self.rank, Integral) and self.rank >= budget > 1:
            raise ParameterError(
                f"rank of {type(self).__name__} must be smaller than the number of features to "
                f"select, {budget}; got {self.rank}. Choose more features or a smaller rank."
            )
        if wanted < budget or wanted <= 1:
            return wanted
        possible = max(1, budget // 2)
        share = np.sum(sigma[:possible] ** 2) / np.sum(sigma**2)
        warnings.warn(
            f"{budget} features cannot preserve all {wanted} dimensions of the data; the {possible} "
            f"leading ones ({100 * share:.1f} % of the squared norm) are preserved instead. Select "
            "more features, or set rank.",
            TruncatedRankWarning,
            stacklevel=5,
        )
        return possible

    def _select(self, spec, budget, rng):
        progress = progress_bar("selecting", self.verbose)
        if self.method == "single":
            return bss(spec.V, budget, progress), {"method": "bss"}
        residual2 = residual_norms2(spec)
        selection = dual_set(spec.V, residual2, budget, progress)
        return selection, {"method": "dual", "residual_ratio": _residual_ratio(residual2, selection)}


def _residual_ratio(residual2, selection):
    total = residual2.sum()
    if total == 0.0:
        return None
    return float(np.sum(selection.weights**2 * residual2[selection.indices]) / total)
