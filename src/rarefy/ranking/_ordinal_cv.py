"""Ranking ordered levels, parameters chosen on held-out samples."""

from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.metrics import get_scorer_names
from sklearn.utils._param_validation import StrOptions

from rarefy._delegation import delegated
from rarefy.ranking._ordinal import OrdinalRankRC
from rarefy.ranking._ranker_cv import RankerCV
from rarefy.ranking._scoring import Measure, mauc


class OrdinalRankRCCV(RankerCV):
    """OrdinalRankRC with its parameters chosen by cross-validation.

    Parameters
    ----------
    estimator : OrdinalRankRC or None, default=None
        The ranker; its `alpha` is not used. None means ``OrdinalRankRC()``. Its `basis` must not be row numbers, which
        would mean other samples in every fold, and its `solver` must be "trust-region".
    alphas : array-like of shape (n_alphas,) or None, default=None
        Weights of the penalty to try, > 0; None means 2^-20, 2^-18, ..., 2^2.
    gammas : list or None, default=None
        Widths of the kernel to try, numbers or words as `gamma` of the ranker; None means that of `estimator`.
    bases : list or None, default=None
        Bases to try, as `basis` of the ranker; None means that of `estimator`.
    scoring : str, callable or None, default=None
        What to choose by on the held-out folds: the name of a scorer of scikit-learn, or a scorer; None means the share
        of the pairs of different levels in the right order (:func:`rarefy.metrics.mauc_score`).
    cv : int, splitter, iterable or None, default=None
        How to split; None means five folds, stratified by level.
    n_jobs : int or None, default=None
        Folds at a time; None means one, -1 as many as there are processors.

    Attributes
    ----------
    best_estimator_ : OrdinalRankRC
        The ranker with the chosen parameters, fitted on all samples. Its other attributes can be read here as well.
    best_params_ : dict
        The chosen parameters.
    best_score_ : float
        Their mean score on the held-out folds.
    alpha_ : float
        The chosen weight of the penalty; of equally good ones the largest.
    alphas_ : ndarray of shape (n_alphas,)
        The weights that were tried.
    cv_results_ : dict
        Parameters and scores of all candidates, named as in scikit-learn's searches.
    cv_scores_ : ndarray of shape (n_candidates, n_folds)
        Score of every candidate on every held-out fold; NaN for folds in which there was one class or level only, which
        do not count. Candidates are in the order of ``cv_results_["params"]``, weights of the penalty last.
    held_out_scores_ : ndarray of shape (n_samples,)
        Scores of the training samples by the chosen candidate's rankers that were fitted without them; NaN for samples
        that were in no held-out fold.
    levels_ : ndarray of shape (n_levels,)
        The levels, in ascending order.
    cuts_ : ndarray of shape (n_levels - 1,)
        Scores at which `predict` cuts the ranking, chosen on the held-out scores.
    basis_ : ndarray of shape (n_basis,) or None
        Row numbers of the training samples with a kernel function; None if centres of clusters are among them.
    basis_points_ : array of shape (n_basis, n_features)
        The samples of the basis; with a precomputed kernel, their row numbers.
    dual_coef_ : ndarray of shape (1, n_basis)
        Coefficients of the kernel functions.
    kernel_ : object
        The kernel with the parameters that were used.
    gamma_ : float or None
        Width of the kernel; None if it has none.
    objective_ : float
        Value reached.
    n_iter_ : int
        Iterations.
    storage_ : str
        Where the kernel values were kept.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, when X has names that are all strings.

    See Also
    --------
    OrdinalRankRC : The ranker.
    RankRCCV : The same for a rare class.

    Examples
    --------
    >>> import numpy as np
    >>> from rarefy.ranking import OrdinalRankRC, OrdinalRankRCCV
    >>> rng = np.random.default_rng(0)
    >>> y = np.sort(rng.choice([0, 1, 2], 300, p=[0.7, 0.2, 0.1]))
    >>> X = rng.standard_normal((300, 2)) + y[:, None]
    >>> model = OrdinalRankRCCV(OrdinalRankRC(random_state=0), alphas=[1e-6, 1e-2], cv=3).fit(X, y)
    >>> model.alpha_, bool(model.best_score_ > 0.8)
    (0.01, True)
    """

    _ranker_class = OrdinalRankRC
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "estimator": [OrdinalRankRC, None],
        "alphas": ["array-like", None],
        "gammas": [list, tuple, np.ndarray, None],
        "bases": [list, tuple, None],
        "scoring": [StrOptions(set(get_scorer_names())), callable, None],
        "cv": ["cv_object"],
        "n_jobs": [Integral, None],
    }

    cuts_ = delegated("cuts_")
    levels_ = delegated("levels_")

    def __init__(
        self,
        estimator: OrdinalRankRC | None = None,
        *,
        alphas: Any = None,
        gammas: Any = None,
        bases: Any = None,
        scoring: Any = None,
        cv: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.alphas = alphas
        self.gammas = gammas
        self.bases = bases
        self.scoring = scoring
        self.cv = cv
        self.n_jobs = n_jobs

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Compute the share of the pairs of different levels that are in the right order.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples; with a precomputed kernel, their kernel values with all samples seen in `fit`.
        y : array-like of shape (n_samples,)
            Their levels.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights of the samples; a pair counts with the product of its two. None means 1.

        Returns
        -------
        score : float
            Between 0 and 1; see :func:`rarefy.metrics.mauc_score`.
        """
        return float(self._best_ranker().score(X, y, sample_weight))

    def _measure(self) -> Measure | None:
        return mauc if self.scoring is None else None
