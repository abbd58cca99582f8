"""Selection at random: the baseline."""

import numpy as np
from sklearn.utils.validation import validate_data

from rarefy._parameters import draw_seed
from rarefy.selection._base import PlainSelector, feature_budget


class RandomSelector(PlainSelector):
    """Keep features drawn uniformly, without replacement: what any other selector has to beat.

    Parameters
    ----------
    n_features_to_select : int, float or None, default=None
        Number of features to keep, or a fraction of them; None keeps half.
    random_state : int, RandomState instance or None, default=None
        Seed.

    Attributes
    ----------
    support_ : ndarray of shape (n_features,), bool
        Mask of the kept features.
    selected_ : ndarray of shape (n_selected,)
        Kept features in the order in which they were drawn.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, when X has names that are all strings.

    Examples
    --------
    >>> import numpy as np
    >>> from rarefy.selection import RandomSelector
    >>> RandomSelector(3, random_state=0).fit_transform(np.ones((2, 10))).shape
    (2, 3)
    """

    def __init__(self, n_features_to_select=None, *, random_state=None):
        self.n_features_to_select = n_features_to_select
        self.random_state = random_state

    def fit(self, X, y=None):
        """Draw the features.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The data; only the number of columns matters.
        y : None
            Ignored.

        Returns
        -------
        self : object
            The fitted selector.
        """
        X = validate_data(self, X, accept_sparse=("csr", "csc"), dtype=(np.float64, np.float32))
        d = X.shape[1]
        budget = feature_budget(self.n_features_to_select, d, type(self).__name__)
        rng = np.random.default_rng(draw_seed(self.random_state))
        return self._store(rng.permutation(d)[:budget])
