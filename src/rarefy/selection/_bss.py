"""Selection by spectral sparsification."""

from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import StrOptions

from rarefy._parameters import COUNT, SHARE
from rarefy._progress import progress_bar
from rarefy._warnings import warn_user
from rarefy.core.linalg.rows import Array
from rarefy.core.linalg.spectrum import Spectrum, residual_norms2, resolve_rank
from rarefy.core.sparsify.bss import bss, dual_set
from rarefy.exceptions import ParameterError, TruncatedRankWarning
from rarefy.selection._base import N_FEATURES
from rarefy.selection._spectral import Choice, SpectralSelector

_REPEATS = (
    "some columns were taken several times, and their weights account for it. The certificate holds as it is; set "
    "n_features_to_select to a smaller number to avoid repeats."
)


class BSSSelector(SpectralSelector):
    """Deterministic feature selection that preserves the geometry of the samples.

    Chooses and rescales at most r columns so that the eigenvalues of V'RR'V, with V the right
    singular vectors of X, stay within (1 ± sqrt(l/r))². Margins, enclosing balls and ridge risks of
    linear models then change by factors that the certificate states.

    Parameters
    ----------
    n_features_to_select : int, float or None, default=None
        Number r of features to keep at most; a float in (0, 1) is a share of the features, None means half of them
        and at most 100. If columns are zero or have to be taken repeatedly, fewer are kept, with a warning if r was
        given. The guarantee needs more features than dimensions and becomes useful from twice as many on.
    rank : int, float or None, default=None
        How many right singular vectors to preserve, fewer than r; a float in (0, 1) takes as many as
        hold that share of the squared norm. None preserves all dimensions of the data. If r is too small for
        that, the r // 2 leading ones are preserved, with a warning.
    sketch_size : int or None, default=None
        Work on a Gaussian sketch of this many rows, which is faster for many samples; the certificate is then an
        estimate and no proof. None works on the data.
    method : {"single", "dual"}, default="single"
        "dual" gives up the upper eigenvalue bound and bounds what lies outside the preserved
        dimensions instead: the choice when r is smaller than the rank.
    rescale : bool, default=True
        Whether `transform` multiplies each kept column by its weight. The certificate is about the
        rescaled columns.
    random_state : int, RandomState instance or None, default=None
        Seed of the sketch; nothing else is random.

    Attributes
    ----------
    support_ : ndarray of shape (n_features,), bool
        Mask of the kept features.
    selection_order_ : ndarray of shape (n_selected,)
        Indices of the kept features in the order of selection.
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
    LeverageScoreSelector : Sampling from the same vectors; faster, guaranteed with probability.
    SupportVectorSelector : The supervised form.
    rarefy.certify : A certificate for any subset of features.

    References
    ----------
    [BatsonSpielmanSrivastava2009] J. D. Batson, D. A. Spielman and N. Srivastava, Twice-Ramanujan sparsifiers, 2009.

    [BoutsidisDrineasMagdonIsmail2014] C. Boutsidis, P. Drineas and M. Magdon-Ismail, Near-optimal column-based matrix
    reconstruction, 2014.

    [PaulMagdonIsmailDrineas2015] S. Paul, M. Magdon-Ismail and P. Drineas, Feature selection for linear SVM with
    provable guarantees, 2015.

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

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_features_to_select": N_FEATURES,
        "rank": [COUNT, SHARE, None],
        "sketch_size": [COUNT, None],
        "method": [StrOptions({"single", "dual"})],
        "rescale": ["boolean"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_features_to_select: float | None = None,
        *,
        rank: float | None = None,
        sketch_size: int | None = None,
        method: str = "single",
        rescale: bool = True,
        random_state: Any = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.rank = rank
        self.sketch_size = sketch_size
        self.method = method
        self.rescale = rescale
        self.random_state = random_state

    def _check_budget(self, budget: int) -> None:
        if isinstance(self.rank, Integral) and self.rank >= budget > 1:
            raise ParameterError(
                f"rank of {type(self).__name__} must be smaller than the number of features to "
                f"select, {budget}; got {self.rank}. Choose more features or a smaller rank."
            )

    def _n_dimensions(self, sigma: Array, budget: int) -> int:
        wanted = resolve_rank(sigma, self.rank)
        if wanted < budget or wanted <= 1:
            return wanted
        possible = max(1, budget // 2)
        share = np.sum(sigma[:possible] ** 2) / np.sum(sigma**2)
        warn_user(
            f"{type(self).__name__}: {budget} features{' (the default)' if self.n_features_to_select is None else ''} "
            f"cannot preserve all {wanted} dimensions of the data; the {possible} "
            f"leading ones ({100 * share:.1f} % of the squared norm) are preserved instead. Select "
            "more features, or set rank.",
            TruncatedRankWarning,
        )
        return possible

    def _choose(self, spec: Spectrum, budget: int, rng: np.random.Generator) -> Choice:
        progress = progress_bar("selecting")
        if self.method == "single":
            return Choice(bss(spec.V, budget, progress), "bss", _REPEATS)
        residual2 = residual_norms2(spec)
        return Choice(dual_set(spec.V, residual2, budget, progress), "dual", _REPEATS, residual2=residual2)
