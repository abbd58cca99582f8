r"""The objective as a function of weights, coefficients and offsets, with derivatives.

z : (d,) weights; K : (n, s) kernel matrix with these weights, see `kernel`
B, b : (s, q) and (q,) coefficients and offsets of q classifiers, F = K B + b their scores
Y : (n, q) labels -1 and 1

What is minimised [Tayal2014], with the smoothed hinge l and a penalty p of the weights:

    sum_c (1/2 nu_c^2 B_c^T K B_c + sum_i C_i l(nu_c Y_ic F_ic)) + p(z)

nu is 1, or a variable beside z: it is the inverse of the margin that the alternating method shares between its two
halves. The function is convex in nu.
"""

from collections.abc import Callable
from functools import cached_property
from typing import Literal

import numpy as np

from rarefy.core.feature_weights.classifiers import Classifiers
from rarefy.core.feature_weights.kernel import FeatureKernel
from rarefy.core.linalg.rows import Array, Index


def weight_step(
    kernel: FeatureKernel,
    classifiers: Classifiers,
    index: Index,
    B: Array,
    b: Array,
    *,
    margin: Literal["fixed", "geometric", "functional"],
) -> Callable[[Array], "WeightPoint"]:
    """The objective in weights and margins for given coefficients, as a function for `trust_region`.

    Parameters
    ----------
    kernel : FeatureKernel
        All samples, and those with nonzero coefficients as centres.
    classifiers : Classifiers
        Labels, loss and penalty.
    index : (s,) array
        Which of the samples are the centres.
    B, b : (s, q) and (q,) arrays
        Coefficients of the centres, and offsets.
    margin : {"fixed", "geometric", "functional"}
        Variables are z alone; z and nu; or z and nu, with 1/2 nu_c^2 alone in place of 1/2 nu_c^2 B_c^T K B_c.
    """
    return lambda x: WeightPoint(kernel, classifiers, index, B, b, margin, x)


class WeightPoint:
    """The function of `weight_step` at one x: z, followed by nu where it is a variable."""

    def __init__(
        self, kernel: FeatureKernel, classifiers: Classifiers, index: Index, B: Array, b: Array, margin: str, x: Array
    ) -> None:
        d, q = kernel.n_weights, B.shape[1]
        self.kernel, self.classifiers, self.index, self.B, self.margin = kernel, classifiers, index, B, margin
        self.z, self.nu = x[:d], x[d:] if margin != "fixed" else np.ones(q)
        K, self.first, self.second = kernel.profile.derivatives(kernel.distances(self.z))
        self.F = K @ B + b
        self.norms = np.ones(q) if margin == "functional" else np.einsum("sc,sc->c", B, K[index] @ B)
        total, self.G, self.H = classifiers.losses(self.nu * self.F)
        cost, self._slope_of_penalty, self._bend_of_penalty = classifiers.penalty.derivatives(self.z)
        self.value = 0.5 * float(self.nu**2 @ self.norms) + total + cost

    @cached_property
    def _outer(self) -> Array:
        """The derivative of the value in the entries of K."""
        left = self.nu * self.G
        if self.margin != "functional":
            left[self.index] += 0.5 * self.nu**2 * self.B
        return left @ self.B.T

    @cached_property
    def _slopes(self) -> Array:
        """The derivative of the value in the squares of z, without the penalty."""
        return self.kernel.sums(np.multiply(self.first, self._outer, out=self.kernel.scratch))

    @cached_property
    def gradient(self) -> Array:
        in_z = 2.0 * self.z * self._slopes + self._slope_of_penalty
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
        in_z = (2.0 * self._slopes + self._bend_of_penalty) * v + 2.0 * self.z * self.kernel.sums(dA)
        if self.margin == "fixed":
            return in_z
        change = np.einsum("sc,sc->c", self.B, dF[self.index]) if self.margin != "functional" else 0.0
        in_nu = p * self.norms + self.nu * change + np.einsum("ic,ic->c", dG, self.F)
        return np.concatenate([in_z, in_nu + np.einsum("ic,ic->c", self.G, dF)])


def whole_problem(kernel: FeatureKernel, classifiers: Classifiers) -> Callable[[Array], "WholePoint"]:
    """The objective in coefficients, offsets and weights, for `trust_region`; every sample is a centre."""
    return lambda x: WholePoint(kernel, classifiers, x)


class WholePoint:
    """The function of `whole_problem` at one x: the rows of B, then b, then z."""

    def __init__(self, kernel: FeatureKernel, classifiers: Classifiers, x: Array) -> None:
        n, q = classifiers.Y.shape
        self.kernel, self.classifiers = kernel, classifiers
        self.B, self.b, self.z = split(x, n, q)
        self.K, self.first, self.second = kernel.profile.derivatives(kernel.distances(self.z))
        self.KB = self.K @ self.B
        total, self.G, self.H = classifiers.losses(self.KB + self.b)
        cost, self._slope_of_penalty, self._bend_of_penalty = classifiers.penalty.derivatives(self.z)
        self.value = 0.5 * float(np.vdot(self.B, self.KB)) + total + cost

    @cached_property
    def _outer(self) -> Array:
        return (0.5 * self.B + self.G) @ self.B.T

    @cached_property
    def _slopes(self) -> Array:
        return self.kernel.sums(self.first * self._outer)

    @cached_property
    def gradient(self) -> Array:
        in_B = self.KB + self.K @ self.G
        return np.concatenate([in_B.ravel(), self.G.sum(axis=0), 2.0 * self.z * self._slopes + self._slope_of_penalty])

    def hessian_product(self, v: Array) -> Array:
        P, p, v = split(v, *self.B.shape)
        dA = self.kernel.combined(2.0 * self.z * v)
        dK = self.first * dA
        dG = self.H * (dK @ self.B + self.K @ P + p)
        in_B = dK @ (self.B + self.G) + self.K @ (P + dG)
        np.multiply(self.second, dA, out=dA)
        dA *= self._outer
        dA += self.first * ((0.5 * P + dG) @ self.B.T + (0.5 * self.B + self.G) @ P.T)
        in_z = (2.0 * self._slopes + self._bend_of_penalty) * v + 2.0 * self.z * self.kernel.sums(dA)
        return np.concatenate([in_B.ravel(), dG.sum(axis=0), in_z])


def split(x: Array, n: int, q: int) -> tuple[Array, Array, Array]:
    """The coefficients, offsets and weights in a vector of all variables."""
    return x[: n * q].reshape(n, q), x[n * q : n * q + q], x[n * q + q :]
