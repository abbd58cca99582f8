"""Numbers that carry their gradient and Hessian along: derivatives of a plain program, to the last digits."""

import numpy as np


class Jet:
    """A value with its gradient and Hessian in N variables."""

    def __init__(self, value, gradient, hessian):
        self.value, self.gradient, self.hessian = float(value), gradient, hessian

    @classmethod
    def variables(cls, x):
        """One jet for each entry of x."""
        n = len(x)
        return [cls(value, unit, np.zeros((n, n))) for value, unit in zip(x, np.eye(n), strict=True)]

    def through(self, value, first, second):
        """A function of this number, given by its value and two derivatives."""
        outer = np.outer(self.gradient, self.gradient)
        return Jet(value, first * self.gradient, first * self.hessian + second * outer)

    def __add__(self, other):
        if not isinstance(other, Jet):
            return Jet(self.value + other, self.gradient, self.hessian)
        return Jet(self.value + other.value, self.gradient + other.gradient, self.hessian + other.hessian)

    def __mul__(self, other):
        if not isinstance(other, Jet):
            return Jet(other * self.value, other * self.gradient, other * self.hessian)
        cross = np.outer(self.gradient, other.gradient)
        return Jet(
            self.value * other.value,
            self.value * other.gradient + other.value * self.gradient,
            self.value * other.hessian + other.value * self.hessian + cross + cross.T,
        )

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self):
        return -1.0 * self

    def __sub__(self, other):
        return self + -1.0 * other

    def __rsub__(self, other):
        return -1.0 * self + other

    def __pow__(self, p):
        x = self.value
        return self.through(x**p, p * x ** (p - 1) if p else 0.0, p * (p - 1) * x ** (p - 2) if p > 1 else 0.0)


def exp(x):
    """The exponential of a jet or a number."""
    return x.through(np.exp(x.value), np.exp(x.value), np.exp(x.value)) if isinstance(x, Jet) else np.exp(x)
