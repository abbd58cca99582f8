r"""A trust region method that needs only products with the Hessian.

x : (n,) variables; at(x) gives value, gradient and products with the Hessian

In every iteration the quadratic model is minimised within the region by conjugate gradients [Steihaug1983]. They stop
where the model is minimised well enough, at the border of the region, or at the border along a direction of negative
curvature. A preconditioner M (given by its inverse) changes the norm: the region is ||step||_M <= radius. Another rule
for the step can take their place, such as `exact_step`.

With lower bounds the variables that are pushed towards their bound are measured in units of the square root of their
distance to it, and the model gets a matching quadratic term [ColemanLi1996]: steps towards a bound become short near
it, so that one variable near its bound does not shorten the steps of all others.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, Protocol

import numpy as np

from rarefy.core.linalg.rows import Array

_STALE = 6
"""Products in one iteration after which a preconditioner is made anew; also after a step to the border of the region,
whose shape it is."""

_NEGLIGIBLE = 0.1
"""Share of the accepted decrease that a step may leave to gain, where a preconditioner tells how much that is."""

Status = Literal["optimal", "iteration limit", "stalled"]

ModelStep = tuple[Array, float, float, bool, int]
"""Step, its decrease in the model, its size, whether it minimises the model, and the number of products."""


class Point(Protocol):
    """A function at one place."""

    @property
    def value(self) -> float:
        """Value."""

    @property
    def gradient(self) -> Array:
        """Gradient."""

    def hessian_product(self, v: Array) -> Array:
        """Hessian times v."""


StepRule = Callable[[Point, float], ModelStep]
"""What minimises the model of a function at one place within a region of this radius."""


_GOING = 0.9
"""Share of the way to its bound from which on the model's minimum counts as the bound."""


@dataclass(frozen=True)
class Minimum:
    """Where the method stopped; `decrement` is the decrease that the model still predicts there."""

    x: Array
    value: float
    gradient: Array
    decrement: float
    n_iter: int
    n_products: int
    status: Status


def trust_region(
    at: Callable[[Array], Point],
    x: Array,
    *,
    lower: Array | None = None,
    land: bool = False,
    precondition: Callable[[Any], Callable[[Array], Array] | None] | None = None,
    rule: StepRule | None = None,
    convexity: float = 0.0,
    radius: float = np.inf,
    tol: float = 1e-8,
    max_iter: int = 100,
    max_products: int = 100,
    callback: Callable[[int, float, float], None] | None = None,
) -> Minimum:
    """Minimise from x.

    Parameters
    ----------
    at : callable
        The function.
    x : (n,) array
        Where to start; with bounds, strictly inside.
    lower : (n,) array or None
        Lower bounds, -inf where there is none.
    land : bool
        Whether variables that the last model moves to their bounds are put on them. Otherwise steps only come closer,
        and it ends later.
    precondition : callable or None
        Gives, for the function at one place, the inverse of M times a vector as a function, or None. It is asked again
        when many products were needed.
    rule : callable or None
        Gives the step for a model and a radius, in the units described above; it uses neither `precondition` nor
        `max_products`. None means conjugate gradients.
    convexity : float, >= 0
        No eigenvalue of the Hessian is smaller, anywhere. If it is positive, and without bounds, what a better step
        could still gain is known, and fewer products show that a minimum is one.
    radius : float
        Of the first region; with bounds, in the units described above.
    tol : float
        Accepted predicted decrease, relative to 1e-3 + |value|, of a step that minimises the model.
    max_iter : int
        Iterations.
    max_products : int
        Products with the Hessian in one iteration.
    callback : callable or None
        Called with (iteration, value, predicted decrease).
    """
    here = _finite(at(x))
    inverse = _inverse(precondition, here)
    decrement, products, stalls = np.inf, 0, 0
    for iteration in range(max_iter):
        local = here if lower is None else _Bounded(here, x - lower)
        accepted = tol * (1e-3 + abs(here.value))
        known = _Known(
            accepted if convexity > 0.0 and lower is None else 0.0,
            convexity,
            _NEGLIGIBLE * accepted if inverse is not None else 0.0,
        )
        minimise = rule or partial(_model_step, inverse=inverse or _same, max_products=max_products, known=known)
        step, model, size, done, used = minimise(local, radius)
        bend, landing = 0.0, x
        if isinstance(local, _Bounded):
            landing = local.landing(x, step)
            # The bounds can only make the decrease smaller: what is little without them is little.
            little = land and model <= accepted
            step, model, bend, inside = local.inside(step, model)
            done, used = done and (inside or little), used + (not inside)
        decrement, products = model, products + used
        if callback is not None:
            callback(iteration, here.value, model)
        if not model > 0.0 or (done and model <= accepted):
            x, here = _landed(at, x, here, landing, accepted) if land else (x, here)
            return Minimum(x, here.value, here.gradient, max(model, 0.0), iteration, products, "optimal")
        if model <= 1e-15 * (1e-3 + abs(here.value)) and size < radius:
            # No products are left, but the predicted decrease is below the rounding of the value.
            return Minimum(x, here.value, here.gradient, model, iteration, products, "optimal")
        there = at(x + step)
        ratio = (here.value - there.value - bend) / model
        if ratio < 0.25:
            radius = 0.25 * size
            stalls += 1
        elif ratio > 0.75 and not done:
            radius = max(radius, 2.0 * size)
        if ratio > 1e-4:
            x, here, stalls = x + step, there, 0
            inverse = inverse if done and used <= _STALE else _inverse(precondition, here)
        if stalls > 30:
            # The predicted decrease is below the rounding of the value, or the function is not differentiable here.
            lost = model <= max(tol, 1e-13) * (1e-3 + abs(here.value))
            status: Status = "optimal" if lost else "stalled"
            return Minimum(x, here.value, here.gradient, model, iteration + 1, products, status)
    return Minimum(x, here.value, here.gradient, decrement, max_iter, products, "iteration limit")


def _landed(
    at: Callable[[Array], Point], x: Array, here: Point, landing: Array, accepted: float
) -> tuple[Array, Point]:
    """The point with some variables on their bounds, unless the function is higher there."""
    if np.array_equal(landing, x):
        return x, here
    there = at(landing)
    return (landing, there) if there.value <= here.value + accepted else (x, here)


def _finite(here: Any) -> Any:
    """A model, unless its value or gradient is no number: steps from there would not be any either."""
    if not (np.isfinite(here.value) and np.isfinite(here.gradient).all()):
        raise FloatingPointError("the objective is not finite where the search starts")
    return here


def _inverse(
    precondition: Callable[[Any], Callable[[Array], Array] | None] | None, here: Point
) -> Callable[[Array], Array] | None:
    return None if precondition is None else precondition(here)


def _same(v: Array) -> Array:
    return v


class _Bounded:
    """The model with lower bounds: variables that are pushed towards their bound are scaled by their distance to it."""

    _STAY = 0.995
    """Share of the way to its bound that a variable may go in one step."""

    def __init__(self, here: Point, distance: Array) -> None:
        pushed = np.isfinite(distance) & (here.gradient > 0.0)
        self.here, self.distance = here, distance
        self.unit = np.where(pushed, np.sqrt(np.where(pushed, distance, 1.0)), 1.0)
        self.bend = np.where(pushed, here.gradient, 0.0)
        self.value, self.gradient = here.value, self.unit * here.gradient

    def hessian_product(self, v: Array) -> Array:
        return self.unit * self.here.hessian_product(self.unit * v) + self.bend * v

    def landing(self, x: Array, scaled: Array) -> Array:
        """The point with the variables on their bounds that a step moves there."""
        return np.where(self.unit * scaled <= -_GOING * self.distance, x - self.distance, x)

    def inside(self, scaled: Array, model: float) -> tuple[Array, float, float, bool]:
        """A step within the bounds, its decrease in the model, the part of the bend in it, and whether it is unchanged.

        A step that would leave the bounds is stopped for each variable before its own bound, or as a whole before the
        first bound, whichever gives the larger decrease in the model.
        """
        step = self.unit * scaled
        if not np.isfinite(step).all():
            raise FloatingPointError("a step is no number")
        least = -self._STAY * self.distance
        if np.all(step >= least):
            return step, model, 0.5 * float(self.bend @ scaled**2), True
        slope = -float(self.gradient @ scaled)
        curvature = 2.0 * (slope - model)
        share = float((least[step < least] / step[step < least]).min())
        if curvature > 0.0:
            share = min(share, slope / curvature)
        short = share * slope - 0.5 * share**2 * curvature
        # A distance can be rounded to zero; a variable on its bound and pushed towards it stays there.
        stopped = np.divide(np.maximum(step, least), self.unit, out=np.zeros_like(step), where=self.unit > 0.0)
        curved = self.hessian_product(stopped)
        decrease = -float(self.gradient @ stopped) - 0.5 * float(stopped @ curved)
        if short > decrease:
            stopped, decrease = share * scaled, short
        return self.unit * stopped, decrease, 0.5 * float(self.bend @ stopped**2), False


@dataclass(frozen=True)
class _Known:
    """What ends the search for a step before the model is minimised: zero means that nothing is known.

    Where no step can decrease the model by more than `accepted`, the search ends with a bound on that decrease, which
    the least curvature, `convexity`, gives. With a preconditioner that is nearly the Hessian, half the squared residual
    in the norm of its inverse is what the model can still fall by: from `enough` on it is minimised.
    """

    accepted: float
    convexity: float
    enough: float


def _model_step(
    here: Point, radius: float, inverse: Callable[[Array], Array], max_products: int, known: _Known
) -> ModelStep:
    """The step of conjugate gradients."""
    g = here.gradient
    step, curved = np.zeros_like(g), np.zeros_like(g)
    residual = -g
    z = inverse(residual)
    direction = z.copy()
    norm2 = float(residual @ z)  # residual in the norm of the inverse preconditioner
    if 0.0 < norm2 <= known.enough:
        return step, 0.5 * norm2, 0.0, True, 0
    goal = max(norm2 * min(0.1, np.sqrt(norm2) if norm2 < 1.0 else 0.1) ** 2, known.enough)
    size2, along, ahead2 = 0.0, 0.0, norm2  # |step|^2, <step, direction>, |direction|^2, all in M's norm
    done, used = norm2 == 0.0, 0
    while not done and used < max_products:
        if known.accepted > 0.0:
            # The model has its minimum at most |residual|^2 / (2 convexity) below its value at the step.
            at_most = _decrease(g, step, curved) + float(residual @ residual) / (2.0 * known.convexity)
            if at_most <= known.accepted:
                return step, at_most, float(np.sqrt(max(size2, 0.0))), True, used
        product = here.hessian_product(direction)
        used += 1
        curvature = float(direction @ product)
        length = norm2 / curvature if curvature > 0.0 else np.inf
        far = size2 + 2.0 * length * along + length**2 * ahead2
        if not (np.isfinite(length) and far < radius**2):
            if not np.isfinite(radius):  # no region yet, and the model has no minimum: a step of length 1
                length = 1.0 / np.sqrt(ahead2)
            else:
                length = (-along + np.sqrt(along**2 + ahead2 * (radius**2 - size2))) / ahead2
            step, curved = step + length * direction, curved + length * product
            size2 = size2 + 2.0 * length * along + length**2 * ahead2
            break
        step, curved = step + length * direction, curved + length * product
        residual = residual - length * product
        z = inverse(residual)
        next_norm2 = float(residual @ z)
        ratio = next_norm2 / norm2
        size2 = far
        along = ratio * (along + length * ahead2)
        ahead2 = next_norm2 + ratio**2 * ahead2
        direction, norm2 = z + ratio * direction, next_norm2
        done = norm2 <= goal
    return step, _decrease(g, step, curved), float(np.sqrt(max(size2, 0.0))), done, used


def _decrease(g: Array, step: Array, curved: Array) -> float:
    """Of the model, by a step with this product with the Hessian."""
    return -float(g @ step) - 0.5 * float(step @ curved)
