"""The fewest dimensions of a subspace that keep what is asked for."""

from collections.abc import Callable
from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np

from rarefy._warnings import warn_user
from rarefy.certificates._kernel import checked_targets
from rarefy.certificates._kernel_models import objective_from, products_of, trained
from rarefy.certificates._kernel_objective import Products
from rarefy.core.linalg.rows import Array, Index
from rarefy.core.losses.margins import LOSSES, LossName
from rarefy.exceptions import ParameterError, TruncatedRankWarning
from rarefy.kernel._extraction import Subspace

MEASURED = 1000
"""Samples, drawn at random if there are more, on which it is measured what dimensions keep."""
_ALLOWED = "{'explained': share} or {'objective': share, 'C': 1.0, 'loss': 'squared_hinge'}"
_FIRST = 10
_STEP = 0.02
"""Numbers of dimensions are told apart to this share of themselves where each of them takes training."""


def check_target(target: dict[str, Any], owner: str) -> None:
    """Refuse what is no share of anything that can be measured."""
    wanted = f"target of {owner} must be {_ALLOWED} with n_components='auto'"
    kinds = set(target) & {"explained", "objective"}
    if len(kinds) != 1 or set(target) - kinds - ({"C", "loss"} if kinds == {"objective"} else set()):
        raise ParameterError(f"{wanted}; got {target!r}.")
    share, C, loss = target[kinds.pop()], target.get("C", 1.0), target.get("loss", "squared_hinge")
    numbers = all(isinstance(value, Real) and float(value) > 0.0 for value in (share, C))
    if not numbers or share >= 1.0 or not np.isfinite(C) or not isinstance(loss, str) or loss not in LOSSES:
        raise ParameterError(f"{wanted}: a share in (0, 1) and C > 0; got {target!r}.")


def fewest_dimensions(
    subspace: Subspace,
    X: Any,
    y: Any,
    weights: Array,
    target: dict[str, Any],
    rng: np.random.Generator,
    owner: str,
) -> Subspace:
    """The leading part of a subspace that keeps what is asked for, or all of it, with a warning.

    Parameters
    ----------
    subspace : Subspace
        All dimensions that there are.
    X : {ndarray, sparse matrix}
        Validated samples.
    y : array or None
        Labels or responses, for an objective.
    weights : (n_samples,) array
        Samples of weight zero are not counted; all others are counted once.
    target : dict
        Checked by `check_target`.
    rng : Generator
        Draws the samples that it is measured on.
    owner : str
        Whose parameter it is, for messages.
    """
    n, kernel = X.shape[0], subspace.kernel
    if kernel.precomputed and X.shape[1] != n:
        raise ParameterError(
            f"n_components='auto' of {owner} needs all kernel values of the samples; X has shape {X.shape}. "
            "Give a number."
        )
    used = np.flatnonzero(weights)
    rows = used if len(used) <= MEASURED else np.sort(rng.permutation(used)[:MEASURED])
    Phi = np.asarray(subspace.coordinates(X[rows]), dtype=np.float64)
    if "explained" in target:
        kept = np.cumsum(np.sum(Phi**2, axis=0)) / float(kernel.diagonal(X, rows).sum())
        enough = np.flatnonzero(kept >= target["explained"])
        S, reached = (int(enough[0]) + 1, 0.0) if len(enough) else (len(kept), float(kept[-1]))
        found = bool(len(enough))
    else:
        if y is None:
            raise ParameterError(f"target of {owner} is an objective, which needs y; got none.")
        share_of = _objective(subspace, X, rows, Phi, np.asarray(y)[rows], len(used) / len(rows), target)
        S, reached = _smallest(share_of, target["objective"], Phi.shape[1])
        found = reached >= target["objective"]
    if not found:
        kind = "objective" if "objective" in target else "explained"
        warn_user(
            f"the {S} dimensions that the landmarks of {owner} span keep a share of {reached:.2g}, not "
            f"{target[kind]:g} (target). All of them are kept. Raise n_landmarks, or ask for less.",
            TruncatedRankWarning,
        )
    return leading(subspace, S)


def leading(subspace: Subspace, S: int) -> Subspace:
    """The first S dimensions."""
    eigenvalues = subspace.eigenvalues[:S]
    energy = subspace.energy * float(eigenvalues.sum() / subspace.eigenvalues.sum())
    return replace(subspace, eigenvalues=eigenvalues, map=subspace.map[:, :S].copy(), energy=energy, n_requested=S)


def _objective(
    subspace: Subspace, X: Any, rows: Index, Phi: Array, y: Any, times: float, target: dict[str, Any]
) -> Callable[[int], float]:
    """What share of the objective of models with the whole kernel the first S dimensions are proved to keep."""
    loss: LossName = target.get("loss", "squared_hinge")
    # Losses are summed: of fewer samples each counts for more.
    C = times * float(target.get("C", 1.0))
    Y = checked_targets(y, loss, len(rows))
    whole = products_of(subspace.kernel.between(X, rows, rows), Y, loss, C)

    def share_of(S: int) -> float:
        D = Phi[:, :S]
        beta = trained(D, Y, loss, C)
        kept = Products(beta, D @ (D.T @ beta), np.einsum("ij,ij->i", D, D))
        return objective_from(whole, kept, Y, loss, C).ratio or 0.0

    return share_of


def _smallest(share_of: Callable[[int], float], wanted: float, most: int) -> tuple[int, float]:
    """The smallest number with a share that is wanted, by doubling and bisection, and its share; or `most`."""
    below, size = 0, min(_FIRST, most)
    share = share_of(size)
    while share < wanted and size < most:
        below, size = size, min(2 * size, most)
        share = share_of(size)
    while share >= wanted and size - below > max(1, int(_STEP * size)):
        middle = (below + size) // 2
        tried = share_of(middle)
        if tried >= wanted:
            size, share = middle, tried
        else:
            below = middle
    return size, share
