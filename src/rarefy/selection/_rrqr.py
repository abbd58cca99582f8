"""Selection by rank-revealing QR."""

import warnings

import numpy as np
from sklearn.utils.validation import validate_data

from rarefy._parameters import one_of
from rarefy.core.linalg.rows import as_rows
from rarefy.core.sparsify.pivoted_qr import pivoted_columns
from rarefy.exceptions import DegenerateDataError, TruncatedRankWarning
from rarefy.selection._base import PlainSelector, feature_budget


class RRQRSelector(PlainSelector):
    """Keep the first pivots of a QR decomposition with column pivoting.

    Each step takes the column that the columns taken so far explain least. The pivots span the data after
    as many steps as the rank; past that their order follows rounding errors and means nothing.

    Parameters
    ----------
    n_features_to_select : int, float or None, default=None
        Number of features to keep at the most, or a fraction of them; None keeps half.
    past_rank : {"stop", "continue"}, default="stop"
        Whether to return fewer features when more than the rank are asked for, or to go on in the
        order of the remaining residuals, with a warning.

    Attributes
    ----------
    support_ : ndarray of shape (n_features,), bool
        Mask of the kept features.
    selected_ : ndarray of shape (n_selected,)
        Kept features in the order of selection.
    rank_ : int
        How many of them the rank accounts for.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, when X has names that are all strings.

    References
    ----------
    [BusingerGolub1965]

    Examples
    --------
    >>> import numpy as np
    >>> from rarefy.selection import RRQRSelector
    >>> X = np.array([[3.0, 3.0, 0.0, 1.0], [0.0, 0.1, 2.0, 0.0]])
    >>> RRQRSelector(2).fit(X).selected_.tolist()
    [1, 2]
    """

    def __init__(self, n_features_to_select=None, *, past_rank="stop"):
        self.n_features_to_select = n_features_to_select
        self.past_rank = past_rank

    def fit(self, X, y=None):
        """Choose the pivots.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The data; sparse input is never made dense.
        y : None
            Ignored.

        Returns
        -------
        self : object
            The fitted selector.
        """
        owner = type(self).__name__
        one_of("past_rank", self.past_rank, ("stop", "continue"), owner)
        X = validate_data(self, X, accept_sparse=("csr", "csc"), dtype=(np.float64, np.float32))
        budget = feature_budget(self.n_features_to_select, X.shape[1], owner)
        found = pivoted_columns(as_rows(X), budget, past_rank=self.past_rank == "continue")
        if found.rank == 0:
            raise DegenerateDataError(f"{owner} got data in which every entry is zero; check how X was read.")
        if len(found.indices) > found.rank:
            warnings.warn(
                f"The data have rank {found.rank}; the order of the other {len(found.indices) - found.rank} "
                "features follows rounding errors. Select fewer, or set past_rank='stop'.",
                TruncatedRankWarning,
                stacklevel=2,
            )
        self.rank_ = found.rank
        return self._store(found.indices)
