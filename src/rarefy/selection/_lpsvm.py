"""Selection by the 1-norm SVM."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from rarefy._parameters import POSITIVE
from rarefy._validation import validate_data
from rarefy._warnings import warn_user
from rarefy.core.linalg.rows import Array, as_rows
from rarefy.core.svm.l1_svm import l1_svm
from rarefy.exceptions import ParameterError
from rarefy.selection._base import ACCEPTED, SelectionResult, SupervisedSelector, highest_scores


class LPSVMSelector(ClassifierMixin, SupervisedSelector):
    """Keep the features that have a nonzero weight in a 1-norm linear SVM.

    The sum of absolute weights as penalty makes most weights exactly zero; their number follows from C.
    The linear program is solved by Newton's method on the exterior penalty of its dual, which works
    with few features at a time. It is also a classifier, for two classes.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the hinge loss (the authors' nu), > 0: the larger, the more features.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features)
        Weights, most of them zero.
    intercept_ : ndarray of shape (1,)
        Intercept.
    support_ : ndarray of shape (n_features,), bool
        Mask of the features with a nonzero weight.
    selection_order_ : ndarray of shape (n_selected,)
        Indices of the kept features from the largest absolute weight to the smallest.
    duality_gap_ : float
        How far the objective may be from the optimum.
    n_iter_ : int
        Newton steps.
    classes_ : ndarray of shape (2,)
        The class labels.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, when X has names that are all strings.

    See Also
    --------
    sklearn.svm.LinearSVC : With `penalty="l1"`, the squared hinge loss and the same penalty.
    SupportVectorSelector : Any selector on the support vectors of an SVM.

    References
    ----------
    [FungMangasarian2004] G. M. Fung and O. L. Mangasarian, A feature selection Newton method for support vector machine
    classification, 2004.

    Examples
    --------
    >>> import numpy as np
    >>> from rarefy.selection import LPSVMSelector
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 20)
    >>> X = rng.standard_normal((40, 300))
    >>> X[:, 7] += 6 * y
    >>> LPSVMSelector(C=0.1).fit(X, y).selection_order_.tolist()
    [7]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {"C": [POSITIVE]}

    coef_: Array
    intercept_: Array
    duality_gap_: float
    n_iter_: int
    classes_: NDArray[Any]

    def __init__(self, C: float = 1.0) -> None:
        self.C = C

    def _select(self, X: Any, y: Any) -> SelectionResult:
        owner = type(self).__name__
        classes, label = np.unique(y, return_inverse=True)
        if len(classes) > 2:
            raise ParameterError(f"Only binary classification is supported. {owner} got {len(classes)} classes.")
        if len(classes) < 2:
            raise ParameterError(f"{owner} needs two classes; y has one class.")
        found = l1_svm(as_rows(X), np.where(label == 1, 1.0, -1.0), float(self.C))
        if not found.converged:
            warn_user(
                f"{owner} stopped with a duality gap of {found.gap:.2g} at an objective of {found.objective:.6g}; "
                "scale the features to comparable sizes, or lower C.",
                ConvergenceWarning,
            )
        fitted = {
            "coef_": found.w[None],
            "intercept_": np.array([-found.b]),
            "duality_gap_": found.gap,
            "n_iter_": found.n_iter,
            "classes_": classes,
        }
        order = highest_scores(np.abs(found.w), int(np.count_nonzero(found.w)))
        return SelectionResult.in_order(order, X.shape[1], extra=fitted)

    def decision_function(self, X: Any) -> Array:
        """Compute signed scores; positive means the second class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data with the columns seen in `fit`.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            Scores.
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, **ACCEPTED)
        return X @ self.coef_[0] + self.intercept_[0]

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict class labels.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data with the columns seen in `fit`.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Class labels.
        """
        scores = self.decision_function(X)
        return self.classes_[(scores > 0).astype(int)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags
