r"""Feature weights and SVMs, sought together: the searches by name.

Five ways to the same end [Tayal2014], from weights z0 on:

joint_search  coefficients, offsets and weights in one trust region
reduced       the weights in one trust region, the classifiers following them: the same problem with its convex part
              solved
alternate     classifiers and weights in turn, with three ideas of the margin
gmkl          projected gradients on the value of the classifiers: the peer

Several starts, and starts among very many features, are in `starts`.
"""

from dataclasses import replace
from typing import Any

from rarefy.core.feature_weights.alternating import Margin, alternate
from rarefy.core.feature_weights.gmkl import gmkl
from rarefy.core.feature_weights.joint import joint_search, reduced
from rarefy.core.feature_weights.problem import Callback, Problem, Solution
from rarefy.core.linalg.rows import Array

MARGINS: dict[str, Margin] = {"ao": "fixed", "ao1": "geometric", "ao2": "functional"}
METHODS = (*MARGINS, "full", "reduced", "gmkl")


def run_search(
    problem: Problem,
    z: Array,
    method: str,
    *,
    polish: bool = True,
    tol: float = 1e-3,
    max_iter: int | None = None,
    callback: Callback | None = None,
) -> Solution:
    """One of the searches by its name, and `reduced` after it if it is to be polished and is not that itself."""
    common: dict[str, Any] = {"tol": tol, "callback": callback}
    limit: dict[str, Any] = {} if max_iter is None else {"max_iter": max_iter}
    if method in MARGINS:
        found = alternate(problem, z, MARGINS[method], **common, **limit)
    else:
        found = {"full": joint_search, "reduced": reduced, "gmkl": gmkl}[method](problem, z, **common, **limit)
    if not polish or method in ("reduced", "gmkl"):
        return found
    last = reduced(problem, found.z, field=z > 0.0, **common)
    return replace(last, history=(*found.history, *last.history), n_iter=found.n_iter)
