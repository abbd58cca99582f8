"""Selection by the 1-norm SVM."""

import warnings
from numbers import Real

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from rarefy.core.linalg.rows import as_rows
from rarefy.core.svm.l1_svm import l1_svm
from rarefy.exceptions import ParameterError
from rarefy.selection._base import PlainSelector


class LPSVMSelector(ClassifierMixin, PlainSelector):
    """Keep the features that a 1-norm linear SVM gives a weight.

    The sum of absolute weights as penalty makes most weights exactly zero; their number follows from C.
    The linear program is solved by Newton's method on the exterior penalty of its dual, which works
    with few features at a time. It is also a classifier.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the hinge loss (the authors' nu): the larger, the more features.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features)
        Weights, most of them zero.
    intercept_ : ndarray of shape (1,)
        Intercept.
    support_ : ndarray of shape (n_features,), bool
        Mask of the features with a weight.
    selected_ : ndarray of shape (n_selected,)
        Kept features from the largest absolute weight to the smallest.
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

    References
    ----------
    [FungMangasarian2004]

    Examples
    --------
    >>> import numpy as np
    >>> from rarefy.selection import LPSVMSelector
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 20)
    >>> X = rng.standard_normal((40, 300))
    >>> X[:, 7] += 6 * y
    >>> LPSVMSelector(C=0.1).fit(X, y).selected_.tolist()
    [7]
    """

    def __init__(self, C=1.0):
        self.C = C

    def fit(self, X, y):
        """Solve the linear program.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The data; sparse input is never made dense.
        y : array-like of shape (n_samples,)
            Two class labels of any type.

        Returns
        -------
        self : object
            The fitted selector.
        """
        owner = type(self).__name__
        if not isinstance(self.C, Real) or isinstance(self.C, bool) or not 0.0 < self.C < np.inf:
            raise ParameterError(f"C of {owner} must be a positive number; got {self.C!r}.")
        X, y = validate_data(self, X, y, accept_sparse=("csr", "csc"), dtype=(np.float64, np.float32))
        check_classification_targets(y)
        self.classes_, label = np.unique(y, return_inverse=True)
        if len(self.classes_) != 2:
            if len(self.classes_) > 2:
                raise ParameterError(
                    f"Only binary classification is supported. {owner} got {len(self.classes_)} classes."
                )
            raise ParameterError(f"{owner} needs two classes; y has one class.")
        found = l1_svm(as_rows(X), np.where(label == 1, 1.0, -1.0), float(self.C))
        if not found.converged:
            warnings.warn(
                f"{owner} stopped with a duality gap of {found.gap:.2g} at an objective of {found.objective:.6g}; "
                "scale the features to comparable sizes, or lower C.",
                ConvergenceWarning,
                stacklevel=2,
            )
        self.coef_, self.intercept_ = found.w[None], np.array([-found.b])
        self.duality_gap_, self.n_iter_ = found.gap, found.n_iter
        order = np.argsort(-np.abs(found.w), kind="stable")
        return self._store(order[: np.count_nonzero(found.w)])

    def decision_function(self, X):
        """Signed scores; positive means the second class.

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
        X = validate_data(self, X, reset=False, accept_sparse=("csr", "csc"), dtype=(np.float64, np.float32))
        return X @ self.coef_[0] + self.intercept_[0]

    def predict(self, X):
        """Class labels.

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

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.target_tags.required = True
        return tags
