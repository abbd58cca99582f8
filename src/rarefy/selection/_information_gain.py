"""Selection by information gain."""

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from rarefy.core.statistics.information import information_gain
from rarefy.selection._base import PlainSelector, feature_budget, tidy_sparse


class InformationGainSelector(PlainSelector):
    """Keep the features whose presence or absence says most about the class.

    Parameters
    ----------
    n_features_to_select : int, float or None, default=None
        Number of features to keep, or a fraction of them; None keeps half.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        Information gain in bits.
    support_ : ndarray of shape (n_features,), bool
        Mask of the kept features.
    selected_ : ndarray of shape (n_selected,)
        Kept features from the highest score to the lowest; equal scores keep the order of the columns.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, when X has names that are all strings.

    See Also
    --------
    sklearn.feature_selection.mutual_info_classif : For values rather than presence.

    References
    ----------
    [YangPedersen1997]

    Examples
    --------
    >>> import numpy as np
    >>> from rarefy.selection import InformationGainSelector
    >>> X = np.array([[1, 0, 2], [3, 0, 1], [0, 1, 1], [0, 0, 5]])
    >>> InformationGainSelector(1).fit(X, ["a", "a", "b", "b"]).selected_.tolist()
    [0]
    """

    def __init__(self, n_features_to_select=None):
        self.n_features_to_select = n_features_to_select

    def fit(self, X, y):
        """Score the features.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The data; what is not zero is present. Sparse input is never made dense.
        y : array-like of shape (n_samples,)
            Class labels of any type.

        Returns
        -------
        self : object
            The fitted selector.
        """
        X, y = validate_data(self, X, y, accept_sparse=("csr", "csc"), dtype=(np.float64, np.float32))
        X = tidy_sparse(X)
        check_classification_targets(y)
        budget = feature_budget(self.n_features_to_select, X.shape[1], type(self).__name__)
        classes, index = np.unique(y, return_inverse=True)
        members = np.eye(len(classes))[index]
        counts = (X != 0).astype(np.float64).T @ members
        self.scores_ = information_gain(np.asarray(counts), members.sum(axis=0))
        return self._store(np.argsort(-self.scores_, kind="stable")[:budget])

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags
