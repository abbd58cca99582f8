"""What a selection keeps of ridge regression, at every penalty."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from rarefy._fit import checked_arguments
from rarefy._parameters import check_grid
from rarefy._pictures import axes_of, data_frame
from rarefy._validation import check_array
from rarefy.certificates._columns import checked_weights, support_indices
from rarefy.core.certificates.kernel_values import Regularised
from rarefy.core.certificates.pencil import Pencil, row_pencil
from rarefy.core.certificates.regularised import alpha_from, pencil_curve
from rarefy.core.linalg.rows import Array, as_rows
from rarefy.core.sparsify import Selection
from rarefy.exceptions import ParameterError


@dataclass(frozen=True, eq=False)
class RidgeCurve:
    """What is guaranteed about ridge regression in the kept columns, for a range of penalties.

    Attributes
    ----------
    alphas : ndarray of shape (n_alphas,)
        The penalties, as in scikit-learn's `Ridge`.
    points : tuple of Regularised
        What holds at each: `lo` and `hi`, between which the penalised kernel matrix keeps of itself; `risk_factor`, by
        which the risk at the samples grows at most, whatever the signal; effective dimensions before and after.

    See Also
    --------
    certify : With `alpha` the same for one penalty, in a certificate.

    Examples
    --------
    >>> import numpy as np
    >>> import rarefy
    >>> X = np.random.default_rng(0).standard_normal((20, 100))
    >>> curve = rarefy.ridge_curve(X, np.arange(80))
    >>> enough = curve.alpha_for(1.5)
    >>> rarefy.certify(X, np.arange(80), alpha=enough).risk_ratio <= 1.5 * (1 + 1e-9)
    True
    """

    alphas: Array
    points: tuple[Regularised, ...]
    _pencil: Pencil

    def alpha_for(self, factor: float = 1.1) -> float:
        """Return a penalty from which on the risk grows by no more than a factor.

        Parameters
        ----------
        factor : float, default=1.1
            What is allowed, > 1.

        Returns
        -------
        alpha : float
            For this penalty and every larger one it is proved; infinity if it is for none.
        """
        if not factor > 1.0:
            raise ParameterError(f"factor of alpha_for must be above 1; got {factor!r}.")
        return alpha_from(self._pencil, factor, self.alphas.tolist()).proved

    def to_frame(self) -> Any:
        """Return the curve as a pandas data frame, one row a penalty.

        Returns
        -------
        frame : pandas.DataFrame
            With columns alpha, low, high, risk_factor, effective_dimension and effective_dimension_kept.
        """
        return data_frame(
            {
                "alpha": self.alphas,
                "low": [point.lo for point in self.points],
                "high": [point.hi for point in self.points],
                "risk_factor": [point.risk_factor for point in self.points],
                "effective_dimension": [point.effective_dimension for point in self.points],
                "effective_dimension_kept": [point.effective_dimension_kept for point in self.points],
            }
        )

    def plot(self, ax: Any = None) -> Any:
        """Draw low, high and the risk factor against the penalty.

        Parameters
        ----------
        ax : matplotlib axes or None, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        ax : matplotlib axes
            What was drawn on.
        """
        ax = axes_of(ax)
        ax.fill_between(
            self.alphas,
            [p.lo for p in self.points],
            [p.hi for p in self.points],
            alpha=0.25,
            label="kept of the kernel",
        )
        ax.plot(self.alphas, [p.risk_factor for p in self.points], color="C1", label="risk, at most times")
        ax.axhline(1.0, color="0.7", linewidth=0.8)
        enough = self.alpha_for(1.1)
        if np.isfinite(enough) and self.alphas.min() <= enough <= self.alphas.max():
            ax.axvline(enough, color="C2", linestyle="--", label=f"from {enough:.3g} on at most 10 % more risk")
        ax.set(xscale="log", yscale="log", xlabel="penalty alpha", ylabel="factor")
        ax.legend(frameon=False)
        return ax


@checked_arguments({})
def ridge_curve(X: Any, support: Any, weights: Any = None, *, alphas: Any = None) -> RidgeCurve:
    """Say what a subset of features keeps of ridge regression, from small penalties to large ones.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The data.
    support : array-like
        The subset: a mask of length n_features, indices, or (for a data frame) column names.
    weights : array-like or None, default=None
        Factor of each kept column, in the order of `support` (for a mask: of the columns); None keeps them as they are.
    alphas : array-like or None, default=None
        Penalties, > 0; None takes 33 from a millionth to a hundred times the mean squared norm of the rows.

    Returns
    -------
    curve : RidgeCurve
        What is guaranteed at each penalty, with a picture.

    Examples
    --------
    >>> import numpy as np
    >>> import rarefy
    >>> X = np.random.default_rng(0).standard_normal((20, 100))
    >>> curve = rarefy.ridge_curve(X, np.arange(60), alphas=[1.0, 1000.0])
    >>> curve.points[1].risk_factor < curve.points[0].risk_factor
    True
    """
    names = getattr(X, "columns", None)
    X = check_array(X, accept_sparse=("csr", "csc"), dtype=(np.float64, np.float32))
    indices = support_indices(support, X.shape[1], names)
    pencil = row_pencil(as_rows(X), Selection(indices, checked_weights(weights, len(indices), "ridge_curve")))
    if alphas is None:
        mean = float(pencil.mu.sum()) * pencil.scale / X.shape[0] or 1.0
        alphas = mean * np.logspace(-6, 2, 33)
    if np.ndim(alphas) != 1:
        raise ParameterError(f"alphas of ridge_curve must be a list of penalties > 0; got {alphas!r}.")
    alphas = np.sort(check_grid("alphas", alphas, "ridge_curve"))
    return RidgeCurve(alphas, tuple(pencil_curve(pencil, alphas.tolist())), pencil)
