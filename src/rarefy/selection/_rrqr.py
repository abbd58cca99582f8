"""Selection by rank-revealing QR."""

from typing import Any, ClassVar

from sklearn.utils._param_validation import StrOptions

from rarefy._warnings import warn_user
from rarefy.core.linalg.rows import as_rows
from rarefy.core.linalg.spectrum import decompose
from rarefy.core.sparsify.pivoted_qr import pivoted_columns
from rarefy.exceptions import DegenerateDataError, TruncatedRankWarning
from rarefy.selection._base import N_FEATURES, SelectionResult, UnsupervisedSelector, resolve_budget


class RRQRSelector(UnsupervisedSelector):
    """Keep the first pivots of a QR decomposition with column pivoting.

    Each step takes the column that the columns taken so far explain least. The pivots span the data after
    as many steps as the rank; past that their order follows rounding errors and means nothing.

    Parameters
    ----------
    n_features_to_select : int, float or None, default=None
        Number of features to keep at most; a float in (0, 1) is a share of the features, None means half of them and
        at most 100.
    past_rank : {"stop", "continue"}, default="stop"
        What to do if more features than the rank are asked for: "stop" keeps as many as the rank, with a warning if
        a number or share was given; "continue" adds features in the order of the remaining residuals, with a warning.

    Attributes
    ----------
    support_ : ndarray of shape (n_features,), bool
        Mask of the kept features.
    selection_order_ : ndarray of shape (n_selected,)
        Indices of the kept features in the order of selection.
    rank_ : int
        How many of them the rank accounts for.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, when X has names that are all strings.

    See Also
    --------
    BSSSelector : Keeps more columns than the rank, with a guarantee.
    rarefy.certify : A certificate for any subset of features.

    References
    ----------
    [BusingerGolub1965] P. Businger and G. H. Golub, Linear least squares solutions by Householder transformations,
    1965.

    Examples
    --------
    >>> import numpy as np
    >>> from rarefy.selection import RRQRSelector
    >>> X = np.array([[3.0, 3.0, 0.0, 1.0], [0.0, 0.1, 2.0, 0.0]])
    >>> RRQRSelector(2).fit(X).selection_order_.tolist()
    [1, 2]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_features_to_select": N_FEATURES,
        "past_rank": [StrOptions({"stop", "continue"})],
    }

    rank_: int

    def __init__(self, n_features_to_select: float | None = None, *, past_rank: str = "stop") -> None:
        self.n_features_to_select = n_features_to_select
        self.past_rank = past_rank

    def _select(self, X: Any, y: Any) -> SelectionResult:
        budget = resolve_budget(self.n_features_to_select, X.shape[1])
        rows = as_rows(X)
        if getattr(rows, "prefers_gram", False):  # few rows with the same products of columns lead to the same pivots
            rows = decompose(rows).compressed(rows)
        found = pivoted_columns(rows, budget, past_rank=self.past_rank == "continue")
        if found.rank == 0:
            raise DegenerateDataError(
                f"{type(self).__name__} got data in which every entry is zero; check how X was read."
            )
        kept = len(found.indices)
        if kept > found.rank:
            warn_user(
                f"The data have rank {found.rank}; the order of the other {kept - found.rank} "
                "features follows rounding errors. Select fewer, or set past_rank='stop'.",
                TruncatedRankWarning,
            )
        shortfall = (
            f"the data have rank {found.rank}, and past it the order of the pivots follows rounding errors. Set "
            f"n_features_to_select to {found.rank} or less, or past_rank='continue'."
        )
        return SelectionResult.in_order(
            found.indices,
            X.shape[1],
            shortfall=shortfall if kept < X.shape[1] else None,
            extra={"rank_": found.rank},
        )
