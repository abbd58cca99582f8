"""Audit any subset of features, whoever chose it."""

from dataclasses import replace
from numbers import Integral

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array, check_consistent_length, column_or_1d

from rarefy._parameters import draw_seed, optional_count, rank_or_share
from rarefy.certificates._certificate import Sketch, certificate
from rarefy.core.linalg.rows import as_rows
from rarefy.core.linalg.spectrum import leading, spectrum
from rarefy.core.sparsify import Selection
from rarefy.core.svm.hulls import hard_margin2, minimum_enclosing_ball
from rarefy.exceptions import DegenerateDataError, ParameterError
from rarefy.selection._base import kept_names


def certify(X, support, weights=None, y=None, *, rank=None, sketch_size=None, random_state=None):
    """Say what a subset of features is guaranteed to preserve.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The data.
    support : array-like
        The subset: a mask of length n_features, indices, or (for a data frame) column names.
    weights : array-like or None, default=None
        Factor of each kept column, in the order of `support` (for a mask: of the columns); None
        keeps the columns as they are.
    y : array-like of shape (n_samples,) or None, default=None
        Two class labels. With them the hard margin and the enclosing ball are also measured before
        and after selection.
    rank : int, float or None, default=None
        Speak of the leading dimensions only, or of those that hold a share of the squared norm; None speaks of all.
    sketch_size : int or None, default=None
        Speak of a Gaussian sketch of this many rows, for data with very many rows.
    random_state : int, RandomState instance or None, default=None
        Seed of the sketch.

    Returns
    -------
    certificate : Certificate
        What is guaranteed, measured and in words.

    Examples
    --------
    >>> import numpy as np
    >>> import rarefy
    >>> X = np.random.default_rng(0).standard_normal((4, 50))
    >>> rarefy.certify(X, np.arange(50)).distortion < 1e-12
    True
    >>> rarefy.certify(X, [0, 1, 2]).kind
    'none'
    """
    rank_or_share("rank", rank, "certify")
    optional_count("sketch_size", sketch_size, "certify")
    names = getattr(X, "columns", None)
    X = check_array(X, accept_sparse=("csr", "csc"), dtype=(np.float64, np.float32))
    indices = _indices(support, X.shape[1], names)
    weights = _weights(weights, len(indices))
    rows, sketch = as_rows(X), None
    if sketch_size is not None and sketch_size < X.shape[0]:
        sketch = Sketch(sketch_size, draw_seed(random_state))
        rows = sketch.apply(rows)
    spec = spectrum(rows, keep=lambda sigma: leading(sigma, rank))
    if spec.rank == 0:
        raise DegenerateDataError("certify got data in which every entry is zero; check how X was read.")
    found = certificate(spec, Selection(indices, weights), method="given", n_requested=len(indices), sketch=sketch)
    found = replace(found, names=kept_names(names, indices))
    return found if y is None else replace(found, measured=_measured(X, indices, weights, y))


def _measured(X, indices, weights, y):
    y = column_or_1d(y)
    check_consistent_length(X, y)
    if len(np.unique(y)) != 2:
        raise ParameterError(
            f"certify measures the margin between two classes; y has {len(np.unique(y))}. "
            "Pass one pair of classes, or leave y out."
        )
    kept = X[:, indices]
    XR = kept.multiply(weights).tocsr() if sp.issparse(kept) else kept * weights
    ball, ball_after = minimum_enclosing_ball(X), minimum_enclosing_ball(XR)
    return {
        "squared_margin_before": hard_margin2(X, y),
        "squared_margin_after": hard_margin2(XR, y),
        "squared_radius_before": ball.radius2,
        "squared_radius_after": ball_after.radius2,
    }


def _indices(support, d, names):
    support = np.asarray(support)
    if support.ndim != 1:
        raise ParameterError(f"support must be one-dimensional; got shape {support.shape}.")
    if not len(support):
        raise ParameterError("support is empty; name at least one feature.")
    if support.dtype == bool:
        if len(support) != d:
            raise ParameterError(f"A mask of support must have {d} entries; got {len(support)}.")
        if not support.any():
            raise ParameterError("support is empty; name at least one feature.")
        return np.flatnonzero(support)
    support = _positions(_from_names(support, names) if support.dtype.kind in "UO" else _by_number(support, names), d)
    if len(np.unique(support)) < len(support):
        raise ParameterError("support names a feature twice; add up its squared weights instead.")
    return support


def _positions(support, d):
    if support.dtype.kind not in "iu":
        raise ParameterError(f"support must be a mask, indices or column names; got values of type {support.dtype}.")
    support = support.astype(np.intp)
    if len(support) and not -d <= support.min() <= support.max() < d:
        raise ParameterError(f"Indices of support must lie in [0, {d}); got {support.min()} to {support.max()}.")
    return np.where(support < 0, support + d, support)


def _by_number(support, names):
    """The numbers as they are, unless columns are named by numbers and not by 0, 1, 2 and so on."""
    names = [] if names is None else list(names)
    if any(isinstance(name, Integral) for name in names) and names != list(range(len(names))):
        raise ParameterError(
            "The columns of X are named by numbers that are not their positions, so indices in support could mean "
            "either. Pass a mask, or X as an array."
        )
    return support


def _from_names(support, names):
    if names is None:
        raise ParameterError("support holds names, but X has no column names. Pass a data frame or indices.")
    position = {name: i for i, name in enumerate(names)}
    unknown = [str(name) for name in support if name not in position]
    if unknown:
        raise ParameterError(f"support names columns that X does not have: {unknown[:5]}.")
    return np.array([position[name] for name in support], dtype=np.intp)


def _weights(weights, k):
    if weights is None:
        return np.ones(k)
    try:
        weights = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ParameterError(f"weights of certify must be numbers; got {weights!r}.") from error
    if weights.shape != (k,):
        raise ParameterError(
            f"weights must have one entry for each of the {k} kept features; got shape {weights.shape}."
        )
    if not np.all(np.isfinite(weights) & (weights > 0)):
        raise ParameterError("weights must be finite and positive; leave a feature out rather than weighting it 0.")
    return weights
