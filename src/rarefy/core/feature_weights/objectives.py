r"""Kernels with a weight on every feature, and what a support vector machine pays, as functions of the weights.

X : (n, d) points, of which the s with nonzero coefficients are the *centres*
z : (d,) weights >= 0; feature k counts z_k^2
K : (n, s) kernel matrix phi(A), A = sum_k z_k^2 a_k, where a_k is the matrix of squared differences, or of
    products, of feature k; phi(A) = exp(-A), or (A + c)^degree
B, b : (s, q) and (q,) coefficients and offsets of q machines, F = K B + b their scores
Y : (n, q) labels -1 and 1

What is minimised [Tayal2014]_, with the smoothed hinge l of `rarefy.core.svm.smooth_svm`:

    sum_c (1/2 nu_c^2 B_c^T K B_c + sum_i C_i l(nu_c Y_ic F_ic)) + mu sum_k z_k^p

The price is that of the weights, p = 1, or of their squares, p = 2, which are what counts in the kernel. nu is 1, or
moves along with z: it is the inverse of the margin that the alternating method shares between its two halves, and in nu
the function is convex. Of the matrices a_k only two kinds of sums are ever needed, sum_k w_k a_k and the sums of
M * a_k for one M and all k. Each is one product of n x s and s x d matrices: nothing has n s d entries.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from rarefy.core.linalg.rows import Array, Index
from rarefy.core.svm.smooth_svm import CurvedSystem, best_offset, loss, smooth_svm

Shape = Literal["rbf", "poly"]

_FAR = 600.0
"""Squared distances are cut here: exp(-600) is nothing beside 1, and not yet so small that arithmetic becomes slow."""


@dataclass(frozen=True)
class Profile:
    """The function phi with its two derivatives: the Gaussian's exp(-A), or (A + offset)^degree."""

    shape: Shape = "rbf"
    degree: int = 3
    offset: float = 1.0

    def derivatives(self, A: Array) -> tuple[Array, Array, Array]:
        """The values of phi, phi' and phi''; A is overwritten."""
        if self.shape == "rbf":
            K = self(A)
            return K, -K, K
        p, base = self.degree, A + self.offset
        second = p * (p - 1) * base ** max(p - 2, 0)
        return base**p, p * base ** max(p - 1, 0), second

    def __call__(self, A: Array) -> Array:
        """The values of phi; A is overwritten, because new memory costs more than the arithmetic."""
        if self.shape == "rbf":
            return np.exp(np.negative(A, out=A), out=A)
        A += self.offset
        return np.power(A, self.degree, out=A)


GAUSSIAN = Profile()


@dataclass(frozen=True)
class FeatureKernel:
    """Points and centres, feature by feature."""

    X: Array
    centres: Array
    profile: Profile = GAUSSIAN

    @cached_property
    def _points(self) -> tuple[Array, Array]:
        """Distances do not mind a common shift, and their digits are in the differences: centred."""
        if self.profile.shape != "rbf":
            return self.X, self.centres
        middle = self.centres.mean(axis=0) if len(self.centres) else 0.0
        return self.X - middle, self.centres - middle

    @cached_property
    def _squares(self) -> tuple[Array, Array]:
        X, centres = self._points
        return X**2, centres**2

    @cached_property
    def scratch(self) -> Array:
        """A matrix of the size of K for what is needed for a moment."""
        return np.empty((len(self.X), len(self.centres)))

    def combined(self, w: Array) -> Array:
        """sum_k w_k a_k.

        Squared differences are the product of (-2 x w, |x|_w^2, 1) and (x', 1, |x'|_w^2): one product writes them once.
        """
        X, centres = self._points
        if self.profile.shape != "rbf":
            return np.asarray((X * w) @ centres.T)
        left, right = self._squares
        points = np.column_stack([-2.0 * X * w, left @ w, np.ones(len(X))])
        others = np.column_stack([centres, np.ones(len(centres)), right @ w])
        return np.asarray(points @ others.T)

    def sums(self, M: Array) -> Array:
        """The sums of M * a_k over all pairs, for every k."""
        X, centres = self._points
        cross = np.einsum("ik,ik->k", X, M @ centres)
        if self.profile.shape != "rbf":
            return cross
        left, right = self._squares
        return np.asarray((M @ np.ones(M.shape[1])) @ left + (np.ones(len(M)) @ M) @ right - 2.0 * cross)

    def distances(self, z: Array) -> Array:
        """The matrix A; squared distances are not allowed to become negative by rounding."""
        A = self.combined(z**2)
        return np.clip(A, 0.0, _FAR, out=A) if self.profile.shape == "rbf" else A

    def matrix(self, z: Array) -> Array:
        """The kernel matrix of points and centres."""
        return self.profile(self.distances(z))


@dataclass(frozen=True)
class Machines:
    """What stays the same while weights are sought: labels, prices of the losses and of the weights, the smoothing."""

    Y: Array
    costs: Array
    mu: float
    smoothing: float
    power: Literal[1, 2] = 1
    """To which the weights are taken where they are paid for."""

    def price(self, z: Array) -> tuple[float, Array, float]:
        """What the weights cost, with the first derivatives and the second, which is the same for all."""
        mu, p = self.mu, self.power
        return mu * float((z**p).sum()), mu * p * z ** (p - 1), mu * p * (p - 1)

    def losses(self, T: Array) -> tuple[float, Array, Array]:
        """Sum of losses at scores T, with derivatives in the scores."""
        value, first, second = loss(self.Y * T, self.smoothing)
        C = self.costs[:, None]
        return float(self.costs @ value.sum(axis=1)), C * self.Y * first, C * second

    def constant(self) -> float:
        """The least value of machines that say the same of all points."""
        scores = [best_offset(np.zeros(len(y)), y, self.costs, self.smoothing) for y in self.Y.T]
        return self.losses(np.broadcast_to(scores, self.Y.shape))[0]

    def solve(self, K: Array, start: tuple[Array, Array] | None = None) -> tuple[Array, Array, float]:
        """The best coefficients and offsets for a kernel matrix, and their value without the price of weights."""
        B, b, value = np.zeros(self.Y.shape), np.zeros(self.Y.shape[1]), 0.0
        for c, y in enumerate(self.Y.T):
            begin = None if start is None else (start[0][:, c], float(start[1][c]))
            found = smooth_svm(K, y, self.costs, smoothing=self.smoothing, start=begin)
            B[:, c], b[c], value = found.beta, found.b, value + found.objective
        return B, b, value


def weight_step(
    kernel: FeatureKernel,
    machines: Machines,
    index: Index,
    B: Array,
    b: Array,
    *,
    margin: Literal["fixed", "geometric", "functional"],
) -> Callable[[Array], "WeightPoint"]:
    """What the weights and margins are worth for given coefficients, as a function for `trust_region`.

    Parameters
    ----------
    kernel : FeatureKernel
        All points, and those with nonzero coefficients as centres.
    machines : Machines
        Labels and prices.
    index : (s,) array
        Which of the points are the centres.
    B, b : (s, q) and (q,) arrays
        Coefficients of the centres, and offsets.
    margin : {"fixed", "geometric", "functional"}
        Variables are z alone; z and nu; or z and nu, with 1/2 nu_c^2 alone in place of 1/2 nu_c^2 B_c^T K B_c.
    """
    return lambda x: WeightPoint(kernel, machines, index, B, b, margin, x)


class WeightPoint:
    """The function of `weight_step` at one place: x is z, followed by nu where it is a variable."""

    def __init__(
        self, kernel: FeatureKernel, machines: Machines, index: Index, B: Array, b: Array, margin: str, x: Array
    ) -> None:
        d, q = kernel.X.shape[1], B.shape[1]
        self.kernel, self.machines, self.index, self.B, self.margin = kernel, machines, index, B, margin
        self.z, self.nu = x[:d], x[d:] if margin != "fixed" else np.ones(q)
        K, self.first, self.second = kernel.profile.derivatives(kernel.distances(self.z))
        self.F = K @ B + b
        self.norms = np.ones(q) if margin == "functional" else np.einsum("sc,sc->c", B, K[index] @ B)
        total, self.G, self.H = machines.losses(self.nu * self.F)
        price, self._charge, self._rise = machines.price(self.z)
        self.value = 0.5 * float(self.nu**2 @ self.norms) + total + price

    @cached_property
    def _outer(self) -> Array:
        """The derivative of the value in the entries of K."""
        left = self.nu * self.G
        if self.margin != "functional":
            left[self.index] += 0.5 * self.nu**2 * self.B
        return left @ self.B.T

    @cached_property
    def _slopes(self) -> Array:
        """The derivative of the value in the squares of z, without the price."""
        return self.kernel.sums(np.multiply(self.first, self._outer, out=self.kernel.scratch))

    @cached_property
    def gradient(self) -> Array:
        in_z = 2.0 * self.z * self._slopes + self._charge
        if self.margin == "fixed":
            return in_z
        return np.concatenate([in_z, self.nu * self.norms + np.einsum("ic,ic->c", self.G, self.F)])

    def hessian_product(self, v: Array) -> Array:
        d = len(self.z)
        v, p = v[:d], v[d:] if self.margin != "fixed" else np.zeros_like(self.nu)
        dA, scratch = self.kernel.combined(2.0 * self.z * v), self.kernel.scratch
        dF = np.multiply(self.first, dA, out=scratch) @ self.B
        dG = self.H * (p * self.F + self.nu * dF)
        left = p * self.G + self.nu * dG
        if self.margin != "functional":
            left[self.index] += self.nu * p * self.B
        dA *= self.second
        dA *= self._outer
        np.matmul(left, self.B.T, out=scratch)
        scratch *= self.first
        dA += scratch
        in_z = (2.0 * self._slopes + self._rise) * v + 2.0 * self.z * self.kernel.sums(dA)
        if self.margin == "fixed":
            return in_z
        change = np.einsum("sc,sc->c", self.B, dF[self.index]) if self.margin != "functional" else 0.0
        in_nu = p * self.norms + self.nu * change + np.einsum("ic,ic->c", dG, self.F)
        return np.concatenate([in_z, in_nu + np.einsum("ic,ic->c", self.G, dF)])


def whole_problem(kernel: FeatureKernel, machines: Machines) -> Callable[[Array], "WholePoint"]:
    """What coefficients, offsets and weights are worth, all being variables; every point is a centre."""
    return lambda x: WholePoint(kernel, machines, x)


class WholePoint:
    """The function of `whole_problem` at one place: x is B by rows, b and z, one after the other."""

    def __init__(self, kernel: FeatureKernel, machines: Machines, x: Array) -> None:
        n, q = machines.Y.shape
        self.kernel, self.machines = kernel, machines
        self.B, self.b, self.z = split(x, n, q)
        self.K, self.first, self.second = kernel.profile.derivatives(kernel.distances(self.z))
        self.KB = self.K @ self.B
        total, self.G, self.H = machines.losses(self.KB + self.b)
        price, self._charge, self._rise = machines.price(self.z)
        self.value = 0.5 * float(np.vdot(self.B, self.KB)) + total + price

    @cached_property
    def _outer(self) -> Array:
        return (0.5 * self.B + self.G) @ self.B.T

    @cached_property
    def _slopes(self) -> Array:
        return self.kernel.sums(self.first * self._outer)

    @cached_property
    def gradient(self) -> Array:
        in_B = self.KB + self.K @ self.G
        return np.concatenate([in_B.ravel(), self.G.sum(axis=0), 2.0 * self.z * self._slopes + self._charge])

    def hessian_product(self, v: Array) -> Array:
        P, p, v = split(v, *self.B.shape)
        dA = self.kernel.combined(2.0 * self.z * v)
        dK = self.first * dA
        dG = self.H * (dK @ self.B + self.K @ P + p)
        in_B = dK @ (self.B + self.G) + self.K @ (P + dG)
        np.multiply(self.second, dA, out=dA)
        dA *= self._outer
        dA += self.first * ((0.5 * P + dG) @ self.B.T + (0.5 * self.B + self.G) @ P.T)
        in_z = (2.0 * self._slopes + self._rise) * v + 2.0 * self.z * self.kernel.sums(dA)
        return np.concatenate([in_B.ravel(), dG.sum(axis=0), in_z])


class ReducedPoint:
    """The least value over all machines at given weights: coefficients and offsets follow the weights.

    At the optimum of a machine B = -G, so the derivative in K is -1/2 B B^T, and only centres count. When the weights
    move by v, the coefficients of the points on the curved piece of the loss move by what one more linear system with
    their own matrix asks for; the Hessian is the Schur complement of the whole one, and is negative where that is.
    """

    def __init__(self, kernel: FeatureKernel, machines: Machines, z: Array, start: tuple[Array, Array] | None) -> None:
        A = kernel.distances(z)
        K = kernel.profile(A.copy())
        self.machines, self.z = machines, z
        self.B, self.b, value = machines.solve(K, start)
        price, self._charge, self._rise = machines.price(z)
        self.value = value + price
        self.index = np.flatnonzero(np.any(self.B != 0.0, axis=1))
        square = np.ix_(self.index, self.index)
        scores = K @ self.B + self.b
        self._kernel, self._K, self._A = kernel, K[square], A[square]
        self._curved = loss(machines.Y * scores, machines.smoothing)[2] > 0.0

    @cached_property
    def _part(self) -> FeatureKernel:
        points = self._kernel.X[self.index]
        return FeatureKernel(points, points, self._kernel.profile)

    @cached_property
    def _derivatives(self) -> tuple[Array, Array, Array]:
        """phi', phi'' and the derivative of the value in K, all between centres."""
        _, first, second = self._kernel.profile.derivatives(self._A.copy())
        own = self.B[self.index]
        return first, second, -0.5 * own @ own.T

    @cached_property
    def _slopes(self) -> Array:
        first, _, outer = self._derivatives
        return self._part.sums(first * outer)

    @cached_property
    def gradient(self) -> Array:
        return 2.0 * self.z * self._slopes + self._charge

    @cached_property
    def _systems(self) -> list[tuple[int, Index, CurvedSystem]]:
        """Machines that have curved points, which of the centres these are, and their systems."""
        systems = []
        for c, at in enumerate(self._curved[self.index].T):
            curved = np.flatnonzero(at)
            if len(curved):
                K, costs = self._K[np.ix_(curved, curved)], self.machines.costs[self.index[curved]]
                systems.append((c, curved, CurvedSystem(K, costs, self.machines.smoothing)))
        return systems

    def hessian_product(self, v: Array) -> Array:
        first, second, outer = self._derivatives
        own = self.B[self.index]
        dA = self._part.combined(2.0 * self.z * v)
        pushed = np.multiply(first, dA, out=self._part.scratch) @ own
        P = np.zeros_like(own)
        for c, curved, system in self._systems:
            P[curved, c] = system.solve(-pushed[curved, c])[0]
        dA *= second
        dA *= outer
        half = np.matmul(P, own.T, out=self._part.scratch)
        half *= first
        dA -= half  # with its transpose and half of it; the sums below are the same for both
        return (2.0 * self._slopes + self._rise) * v + 2.0 * self.z * self._part.sums(dA)


def split(x: Array, n: int, q: int) -> tuple[Array, Array, Array]:
    """Coefficients, offsets and weights of a vector of all variables."""
    return x[: n * q].reshape(n, q), x[n * q : n * q + q], x[n * q + q :]
