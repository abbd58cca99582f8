"""The searches for feature weights and SVMs by name [Tayal2014].

joint_search  coefficients, offsets and weights in one trust region
reduced       the weights in one trust region, the convex problem of the classifiers being solved at every step
alternate     classifiers and weights in turn, with three forms of the margin
gmkl          projected gradients, the method to compare with

Several starts, and a start among very many features, are in `starts`.
"""

from dataclasses import replace
from typing import Any, Literal

from rarefy.core.feature_weights.alternating import Margin, alternate
from rarefy.core.feature_weights.gmkl import gmkl
from rarefy.core.feature_weights.joint import joint_search, reduced
from rarefy.core.feature_weights.problem import Callback, Problem, Solution
from rarefy.core.linalg.rows import Array
from rarefy.core.solvers.exact_step import exact_step
from rarefy.core.solvers.trust_region import StepRule

MARGINS: dict[str, Margin] = {"ao": "fixed", "ao1": "geometric", "ao2": "functional"}
METHODS = (*MARGINS, "full", "reduced", "gmkl")
"""The values of the `method` parameter."""

Step = Literal["krylov", "exact"]
_RULES: dict[Step, StepRule | None] = {"krylov": None, "exact": exact_step}


def run_search(
    problem: Problem,
    z: Array,
    method: str,
    *,
    polish: bool = True,
    tol: float = 1e-3,
    max_iter: int | None = None,
    step: Step = "krylov",
    start: tuple[Array, Array] | None = None,
    callback: Callback | None = None,
) -> Solution:
    """Search by the named method from z; with `polish`, continue with `reduced` unless the method is that or "gmkl".

    Trust region steps are those of conjugate gradients ("krylov"), or the minima of the models ("exact"), as in
    [Tayal2014], for some hundreds of variables at most; "gmkl" has no trust region. `start` are classifiers of a
    similar problem, for "reduced".
    """
    common: dict[str, Any] = {"tol": tol, "callback": callback}
    if method != "gmkl":
        common["rule"] = _RULES[step]
    limit: dict[str, Any] = {} if max_iter is None else {"max_iter": max_iter}
    if method == "reduced":
        limit["start"] = start
    if method in MARGINS:
        found = alternate(problem, z, MARGINS[method], **common, **limit)
    else:
        found = {"full": joint_search, "reduced": reduced, "gmkl": gmkl}[method](problem, z, **common, **limit)
    if not polish or method in ("reduced", "gmkl"):
        return found
    last = reduced(problem, found.z, start=(found.B, found.b), field=z > 0.0, **common)
    return replace(last, history=(*found.history, *last.history), n_iter=found.n_iter)
