"""Ranking a rare class, parameters chosen on held-out samples."""

from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin

from rarefy._delegation import delegated
from rarefy.ranking._ranker_cv import RankerCV
from rarefy.ranking._rankrc import RankRC
from rarefy.ranking._scoring import Measure, Scoring, measure_of


class RankRCCV(ClassifierMixin, RankerCV):
    """RankRC with its parameters chosen by cross-validation.

    Parameters
    ----------
    estimator : RankRC or None, default=None
        The ranker; its `alpha` is not used. None means ``RankRC()``. Its `basis` must not be row numbers, which would
        mean other samples in every fold, and its `solver` must be "trust-region".
    alphas : array-like of shape (n_alphas,) or None, default=None
        Weights of the penalty to try, > 0; None means 2^-20, 2^-18, ..., 2^2.
    gammas : list or None, default=None
        Widths of the kernel to try, numbers or words as `gamma` of the ranker; None means that of `estimator`.
    bases : list or None, default=None
        Bases to try, as `basis` of the ranker; None means that of `estimator`.
    scoring : str, dict, callable or None, default=None
        What to choose by on the held-out folds: the name of a scorer of scikit-learn, "roc_auc" and "average_precision"
        among them; ``{"partial_auc": 0.1}``, the mean share of rare samples found at false-positive rates up to 0.1;
        ``{"recall_at": 0.01}``, the share of them among the hundredth of all samples that score highest; or a scorer.
        None means what the ranker's `emphasis` is about: "roc_auc" without one, the partial or weighted area with a
        range or a weight of false-positive rates, "average_precision" with a push, the largest F1 or the break-even
        point with these.
    cv : int, splitter, iterable or None, default=None
        How to split; None means five stratified folds.
    n_jobs : int or None, default=None
        Folds at a time; None means one, -1 as many as there are processors.

    Attributes
    ----------
    best_estimator_ : RankRC
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
    classes_ : ndarray of shape (2,)
        The class labels.
    rare_class_ : label
        The class that is ranked on top.
    basis_ : ndarray of shape (n_basis,) or None
        Row numbers of the training samples with a kernel function; None if centres of clusters are among them.
    basis_points_ : array of shape (n_basis, n_features)
        The samples of the basis; with a precomputed kernel, their row numbers.
    dual_coef_ : ndarray of shape (1, n_basis)
        Coefficients of the kernel functions.
    threshold_ : float
        Score above which a sample is called rare, by the ranker's `threshold` rule on the held-out scores.
    threshold_certificate_ : RecallCertificate or None
        What the threshold promises, if `threshold` asks for a promise.
    bound_ : float or None
        Bound on the difference to the scores of the ranker with all kernel functions; None where there is none.
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
    RankRC : The ranker.
    OrdinalRankRCCV : The same for ordered levels.

    References
    ----------
    [TayalColemanLi2015] Tayal, Coleman and Li, RankRC: Large-scale nonlinear rare class ranking, IEEE Transactions on
    Knowledge and Data Engineering 27, 2015.

    Examples
    --------
    >>> import numpy as np
    >>> from rarefy.ranking import RankRC, RankRCCV
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([1, 0], [30, 270])
    >>> X = rng.standard_normal((300, 3)) + y[:, None]
    >>> model = RankRCCV(RankRC(random_state=0), alphas=[1e-6, 1e-2], cv=3, scoring="average_precision").fit(X, y)
    >>> model.alpha_
    0.01
    """

    _ranker_class = RankRC
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "estimator": [RankRC, None],
        "alphas": ["array-like", None],
        "gammas": [list, tuple, np.ndarray, None],
        "bases": [list, tuple, None],
        "scoring": [Scoring(), callable, None],
        "cv": ["cv_object"],
        "n_jobs": [Integral, None],
    }

    bound_ = delegated("bound_")
    classes_ = delegated("classes_")
    rare_class_ = delegated("rare_class_")
    threshold_ = delegated("threshold_")
    threshold_certificate_ = delegated("threshold_certificate_")

    def __init__(
        self,
        estimator: RankRC | None = None,
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

    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """Compute how rare samples look: larger is rarer, whichever way the labels are sorted.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples; with a precomputed kernel, their kernel values with all samples seen in `fit`.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            The scores; samples above `threshold_` are called rare.
        """
        return self._best_ranker().score_samples(X)

    def _measure(self) -> Measure | None:
        return measure_of(self.scoring, None if self.estimator is None else self.estimator.emphasis)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags
