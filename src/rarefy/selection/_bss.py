"""Selection by spectral sparsification."""

import warnings
from dataclasses import replace
from functools import partial
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils import check_consistent_length
from sklearn.utils._param_validation import StrOptions

from rarefy._fit import fit_method
from rarefy._input import validated
from rarefy._parameters import COUNT, SHARE
from rarefy._progress import progress_bar
from rarefy._warnings import warn_user
from rarefy.core.linalg.rows import Rows, as_rows
from rarefy.core.linalg.spectrum import Decomposition, Spectrum, residual_norms2, resolve_rank
from rarefy.core.sparsify.bss import bss, dual_set
from rarefy.core.sparsify.most_even import affordable, most_even
from rarefy.core.sparsify.unweighted import unweighted
from rarefy.exceptions import ParameterError, TruncatedRankWarning
from rarefy.selection._auto import check_target, grants, smallest_granted
from rarefy.selection._base import ACCEPTED, N_FEATURES, SelectionResult
from rarefy.selection._spectral import Choice, SpectralSelector

_REPEATS = (
    "some columns were taken several times, and their weights account for it. The certificate holds as it is; set "
    "n_features_to_select to a smaller number, or method='unweighted', which repeats none."
)


class BSSSelector(SpectralSelector):
    """Deterministic feature selection that preserves the geometry of the samples.

    Chooses and rescales at most r columns so that the eigenvalues of V'RR'V, with V the right
    singular vectors of X, stay close together: within (1 ± sqrt(l/r))² with the method of Batson, Spielman and
    Srivastava (`weighting="bss"`), closer with columns from one barrier and the best weights for them. Margins,
    enclosing balls and ridge risks of linear models then change by factors that the certificate states.

    Parameters
    ----------
    n_features_to_select : int, float, "auto" or None, default=None
        Number r of features to keep at most; a float in (0, 1) is a share of the features, None means half of them
        and at most 100, "auto" the smallest number whose certificate grants `target`. If columns are zero or have to be
        taken repeatedly, fewer are kept, with a warning if r was given. The guarantee needs more
        features than dimensions and becomes useful from twice as many on.
    rank : int, float or None, default=None
        How many right singular vectors to preserve, fewer than r; a float in (0, 1) takes as many as
        hold that share of the squared norm. None preserves all dimensions of the data. If r is too small for
        that, the r // 2 leading ones are preserved, with a warning.
    sketch_size : int or None, default=None
        Work on a Gaussian sketch of this many rows, which is faster for many samples; the certificate is then an
        estimate and no proof. None works on the data.
    method : {"single", "dual", "unweighted"}, default="single"
        "dual" gives up the upper eigenvalue bound and bounds what lies outside the preserved
        dimensions instead: the choice when r is smaller than the rank. "unweighted" keeps exactly r columns as they
        are, chosen by a lower barrier alone.
    weighting : {"optimal", "bss", "unit"}, default="optimal"
        With `method="single"`, "optimal" chooses columns and then the weights that make the eigenvalues most even,
        never less so than "bss" is guaranteed to be; "bss" is the published method, columns and weights; "unit" takes
        its columns as they are. "dual" has weights of its own unless they are 1, and those of "unweighted" are 1. For
        thousands of samples and features to keep "optimal" would take hours and is "bss" (`certificate_.weighting`
        says which).
    target : dict or None, default=None
        What the certificate has to grant with `n_features_to_select="auto"`: `{"margin": 0.5}` for `margin_floor`,
        `{"risk": 1.2}` for `risk_ratio`, or `{"objective": 0.8}` for `objective_ratio`, which needs y (with keys "C",
        1.0 by default, and "loss", "hinge" by default). The number is found to one per cent.
    rescale : bool, default=True
        Whether columns are multiplied by their weights. If not, all weights are 1, and the certificate is about the
        columns as they are.
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
        "n_features_to_select": [*N_FEATURES, StrOptions({"auto"})],
        "rank": [COUNT, SHARE, None],
        "sketch_size": [COUNT, None],
        "method": [StrOptions({"single", "dual", "unweighted"})],
        "weighting": [StrOptions({"optimal", "bss", "unit"})],
        "target": [dict, None],
        "rescale": ["boolean"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_features_to_select: float | str | None = None,
        *,
        rank: float | None = None,
        sketch_size: int | None = None,
        method: str = "single",
        weighting: str = "optimal",
        target: dict[str, Any] | None = None,
        rescale: bool = True,
        random_state: Any = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.rank = rank
        self.sketch_size = sketch_size
        self.method = method
        self.weighting = weighting
        self.target = target
        self.rescale = rescale
        self.random_state = random_state

    @fit_method
    def fit(self, X: Any, y: Any = None) -> Self:
        """Select features.

        Parameters
        ----------
        X : {array-like, sparse matrix, data in blocks} of shape (n_samples, n_features)
            The data; sparse input is never made dense.
        y : array-like of shape (n_samples,) or None, default=None
            Labels or responses, for a `target` that is an objective; ignored otherwise.

        Returns
        -------
        self : object
            The fitted selector.
        """
        X = validated(self, X, **ACCEPTED)
        return self._finish(X, y)

    def _select(self, X: Any, y: Any) -> SelectionResult:
        if self.n_features_to_select != "auto":
            return super()._select(X, y)
        name, target = type(self).__name__, self.target
        check_target(name, target)
        assert target is not None
        if "objective" in target:
            if y is None:
                raise ParameterError(f"target of {name} is an objective, which needs y; got none.")
            check_consistent_length(X, y)

        def granted(found: SelectionResult) -> SelectionResult | None:
            assert found.certificate is not None
            certificate = grants(target, found.certificate, as_rows(X), y)
            return None if certificate is None else replace(found, certificate=certificate)

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TruncatedRankWarning)  # numbers that are too small are part of the search
            first = 2 if "objective" in target else min(X.shape) + 1
            return smallest_granted(partial(self._select_number, X), granted, first, X.shape[1])

    def _check_budget(self, budget: int) -> None:
        if isinstance(self.rank, Integral) and self.rank >= budget > 1:
            raise ParameterError(
                f"rank of {type(self).__name__} must be smaller than the number of features to "
                f"select, {budget}; got {self.rank}. Choose more features or a smaller rank."
            )

    def _n_needed(self, budget: int) -> int | None:
        if self.rank is None:
            return budget  # whether the data have that many dimensions; if they do, only half as many are preserved
        return int(self.rank) if isinstance(self.rank, Integral) else None

    def _n_dimensions(self, whole: Decomposition, budget: int) -> int:
        wanted = resolve_rank(whole.sigma, self.rank)
        if wanted < budget or wanted <= 1:
            return wanted
        possible = max(1, budget // 2)
        share = float(np.sum(whole.sigma[:possible] ** 2) / whole.trace)
        warn_user(
            f"{type(self).__name__}: {budget} features{' (the default)' if self.n_features_to_select is None else ''} "
            f"cannot preserve all {f'{wanted} ' if whole.complete else ''}dimensions of the data; the {possible} "
            f"leading ones ({100 * share:.1f} % of the squared norm) are preserved instead. Select "
            "more features, or set rank.",
            TruncatedRankWarning,
        )
        return possible

    def _choose(self, X: Rows, spec: Spectrum, budget: int, rng: np.random.Generator) -> Choice:
        progress = progress_bar("selecting")
        if self.method == "unweighted":
            return Choice(unweighted(spec.V, budget, progress), "unweighted", "", weighting="unit")
        if self.method == "dual":
            residual2 = residual_norms2(spec)
            found = Choice(dual_set(spec.V, residual2, budget, progress), "dual", _REPEATS, residual2=residual2)
        elif self.weighting == "optimal" and self.rescale and affordable(spec.V, budget):
            return Choice(most_even(spec.V, budget, progress), "bss", _REPEATS, weighting="optimal")
        else:
            found = Choice(bss(spec.V, budget, progress), "bss", _REPEATS)
        if self.weighting == "unit":
            return replace(found, selection=found.selection.with_unit_weights(), weighting="unit")
        return found
