"""Selection at random: the baseline."""

from typing import Any, ClassVar

import numpy as np

from rarefy._parameters import draw_seed
from rarefy.selection._base import N_FEATURES, SelectionResult, UnsupervisedSelector, resolve_budget


class RandomSelector(UnsupervisedSelector):
    """Keep features drawn uniformly, without replacement: what any other selector has to beat.

    Parameters
    ----------
    n_features_to_select : int, float or None, default=None
        Number of features to keep; a float in (0, 1) is a share of the features, None means half of them and at
        most 100.
    random_state : int, RandomState instance or None, default=None
        Seed of the draw.

    Attributes
    ----------
    support_ : ndarray of shape (n_features,), bool
        Mask of the kept features.
    selection_order_ : ndarray of shape (n_selected,)
        Indices of the kept features in the order in which they were drawn.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, when X has names that are all strings.

    See Also
    --------
    LeverageScoreSelector : Draws features in proportion to what they contribute.

    Examples
    --------
    >>> import numpy as np
    >>> from rarefy.selection import RandomSelector
    >>> RandomSelector(3, random_state=0).fit_transform(np.ones((2, 10))).shape
    (2, 3)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_features_to_select": N_FEATURES,
        "random_state": ["random_state"],
    }

    def __init__(self, n_features_to_select: float | None = None, *, random_state: Any = None) -> None:
        self.n_features_to_select = n_features_to_select
        self.random_state = random_state

    def _select(self, X: Any, y: Any) -> SelectionResult:
        d = X.shape[1]
        rng = np.random.default_rng(draw_seed(self.random_state))
        return SelectionResult.in_order(rng.permutation(d)[: resolve_budget(self.n_features_to_select, d)], d)
