"""The smallest number of columns for which a certificate grants what is wanted."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from rarefy.certificates import Certificate
from rarefy.certificates._objective import make_objective
from rarefy.core.linalg.rows import Rows
from rarefy.core.losses.margins import LOSSES
from rarefy.exceptions import ParameterError
from rarefy.selection._base import SelectionResult

_ALLOWED = "{'margin': share}, {'risk': factor} or {'objective': share, 'C': 1.0, 'loss': 'hinge'}"
_STEP = 0.01
"""Numbers of columns are told apart to this share of themselves."""


def check_target(name: str, target: Any) -> None:
    """Refuse what says nothing, or nothing that can be granted."""
    wanted = f"target of {name} must be {_ALLOWED} with n_features_to_select='auto'"
    if not isinstance(target, Mapping):
        raise ParameterError(f"{wanted}; got {target!r}.")
    kinds = set(target) & {"margin", "risk", "objective"}
    if len(kinds) != 1 or set(target) - kinds - ({"C", "loss"} if kinds == {"objective"} else set()):
        raise ParameterError(f"{wanted}; got {dict(target)!r}.")
    kind = kinds.pop()
    value = target[kind]
    right = isinstance(value, int | float) and (value > 1.0 if kind == "risk" else 0.0 < value <= 1.0)
    if not right or target.get("loss", "hinge") not in LOSSES or not target.get("C", 1.0) > 0.0:
        raise ParameterError(f"{wanted}: a share in (0, 1], a factor above 1, C > 0; got {dict(target)!r}.")


def grants(target: Mapping[str, Any], certificate: Certificate, X: Rows, y: Any) -> Certificate | None:
    """The certificate, with an objective if that is the target, if it grants what is wanted."""
    if "margin" in target:
        floor = certificate.margin_floor
        return certificate if floor is not None and floor >= target["margin"] else None
    if "risk" in target:
        ratio = certificate.risk_ratio
        return certificate if ratio is not None and ratio <= target["risk"] else None
    loss, C = target.get("loss", "hinge"), float(target.get("C", 1.0))
    found = make_objective(X, certificate.indices, certificate.weights, y, loss, C)
    granted = found.ratio is not None and found.ratio >= target["objective"]
    return replace(certificate, objective=found) if granted else None


def smallest_granted(
    select: Callable[[int], SelectionResult],
    granted: Callable[[SelectionResult], SelectionResult | None],
    first: int,
    last: int,
) -> SelectionResult:
    """Double from `first` on until it is granted, then bisect; `last` columns are all there are."""
    below, r = 0, min(first, last)
    found = granted(select(r))
    while found is None and r < last:
        below, r = r, min(2 * r, last)
        found = granted(select(r))
    if found is None:
        return select(last)
    best, above = found, r
    while above - below > max(1, int(_STEP * above)):
        middle = (below + above) // 2
        found = granted(select(middle))
        if found is None:
            below = middle
        else:
            best, above = found, middle
    return best
