"""How far a fitted ranker is from the one with all kernel functions."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from rarefy._input import RowSource, lazy_kind
from rarefy.core.linalg.rows import Array, Index
from rarefy.core.losses.hinge import SmoothedHinge
from rarefy.core.losses.logistic import Logistic
from rarefy.core.losses.pairs import PairLoss, Pairs
from rarefy.core.ranking.bounds import certain_share, expansion_norm, posterior_bound
from rarefy.exceptions import ParameterError
from rarefy.kernel._kernels import BoundKernel
from rarefy.ranking._base import KernelRanker
from rarefy.ranking._problem import TrainingData, expand
from rarefy.ranking._ranker_cv import RankerCV
from rarefy.ranking._score_certificate import ScoreCertificate
from rarefy.ranking._settings import LOSSES


def certify_scores(ranker: Any, X: Any, y: Any, sample_weight: Any = None) -> ScoreCertificate:
    """Bound the distance of a fitted ranker to the one with the kernel functions of all training samples.

    It measures the gradient of the objective with all kernel functions at the ranker, which needs the kernel values of
    all pairs of samples that bear on the loss, up to m^2 of them in blocks (10 000 samples: seconds; 100 000: minutes).

    Parameters
    ----------
    ranker : RankRC, RankRCCV, OrdinalRankRC or OrdinalRankRCCV
        The fitted ranker, with ``penalty="l2"``, no `emphasis` and a kernel that is given by name.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The samples that it was fitted on.
    y : array-like of shape (n_samples,)
        Their classes or levels.
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Their weights.

    Returns
    -------
    certificate : ScoreCertificate
        The bound, and the share of pairs whose order is certain.

    Raises
    ------
    ParameterError
        If the theorem does not apply to the ranker.

    See Also
    --------
    subset_bound : What is known before the fit.

    Examples
    --------
    >>> import numpy as np
    >>> from rarefy.ranking import RankRC, certify_scores
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([1, 0], [20, 180])
    >>> X = rng.standard_normal((200, 3)) + 2 * y[:, None]
    >>> print(certify_scores(RankRC(0.01, random_state=0).fit(X, y), X, y).sentence)
    With these 120 kernel functions at least 100.0 % of the pairs are ordered as with those of all samples.
    """
    if isinstance(ranker, RankerCV):
        check_is_fitted(ranker)
        ranker = ranker.best_estimator_
    if not isinstance(ranker, KernelRanker):
        raise ParameterError(f"certify_scores needs a fitted RankRC or OrdinalRankRC; got {ranker!r}.")
    check_is_fitted(ranker)
    if isinstance(X, RowSource) or lazy_kind(X) is not None:
        raise ParameterError(
            "certify_scores compares kernel values of all pairs of samples and does not work on blocks. Pass some of "
            "the samples as an array."
        )
    loss = _supported_loss(ranker)
    data = ranker._training_data(X, y, sample_weight)
    kernel, places, beta, alpha = ranker.kernel_, ranker.basis_points_, ranker.dual_coef_[0], float(ranker.alpha_)
    if not kernel.is_positive(data.X, data.rare):
        raise ParameterError(f"certify_scores needs a positive semi-definite kernel; {kernel.kernel!r} is not one.")
    scores = expand(kernel, data.X, places, beta)
    pull = PairLoss(Pairs.of(data.levels, data.weights), loss).at(scores).gradient
    kappa = float(kernel.diagonal(data.X).max())
    norm = _gradient_norm(kernel, data, ranker.basis_, places, alpha * beta, pull, kappa)
    bound = posterior_bound(norm, alpha, kappa)
    basis_points = np.asarray(places.toarray() if sp.issparse(places) else places, dtype=np.float64)
    return ScoreCertificate(
        alpha,
        kernel.kernel,
        {name: float(value) for name, value in kernel.parameters.items()},
        kernel.factors,
        "logistic" if isinstance(loss, Logistic) else "smoothed_hinge",
        loss.eps if isinstance(loss, SmoothedHinge) else 1.0,
        _labels(data),
        ranker.basis_,
        basis_points,
        beta,
        kappa,
        norm,
        certain_share(data.levels, scores, data.weights, 2.0 * bound),
        getattr(ranker, "bound_", None),
    )


def _supported_loss(ranker: KernelRanker) -> Any:
    """The loss, if the theorem applies and what it needs can be written down."""
    loss = LOSSES[ranker.loss] if isinstance(ranker.loss, str) else ranker.loss
    needs = {
        "penalty='l2'": ranker.penalty == "l2",
        "no emphasis": not ranker.emphasis,
        "a kernel that is given by name": isinstance(ranker.kernel, str) and ranker.kernel != "precomputed",
        "a loss of rarefy.ranking": isinstance(loss, SmoothedHinge | Logistic),
    }
    missing = [what for what, given in needs.items() if not given]
    if missing:
        raise ParameterError(f"certify_scores needs a ranker with {', '.join(missing)}.")
    return loss


def _gradient_norm(
    kernel: BoundKernel, data: TrainingData, basis: Index | None, places: Any, scaled: Array, pull: Array, kappa: float
) -> float:
    """Of the objective with all kernel functions; `scaled` are alpha times the coefficients."""
    points, coefficients = data.X, pull.copy()
    if basis is None:  # centres of clusters stand beside the samples
        stack = sp.vstack if sp.issparse(points) else np.vstack
        points, coefficients = stack([points, places]), np.append(pull, scaled)
    else:
        coefficients[basis] += scaled
    points = points.tocsr() if sp.issparse(points) else points

    def values(rows: Index, others: Index) -> Array:
        out = np.empty((len(rows), len(others)))
        kernel.fill(points[rows], points[others], out)
        return out

    return expansion_norm(values, coefficients, kappa)


def _labels(data: TrainingData) -> tuple[Any, ...]:
    """From the lowest level to the highest, as plain values."""
    labels = list(data.labels)
    if data.rare_label is not None:
        labels.sort(key=lambda one: bool(one == data.rare_label))
    return tuple(one.item() if isinstance(one, np.generic) else one for one in labels)
