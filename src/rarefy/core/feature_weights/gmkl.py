"""Generalised multiple kernel learning [VarmaBabu2009], the method to compare with.

A gradient method for the minimum over all classifiers, which are trained again at every trial step. Its variables are
the squares of z, which enter the kernel linearly, and its hinge is nearly sharp.
"""

from dataclasses import replace

import numpy as np

from rarefy.core.feature_weights.penalties import SquaredPenalty
from rarefy.core.feature_weights.problem import Callback, Problem, Solution, finished
from rarefy.core.linalg.rows import Array
from rarefy.core.losses.hinge import SmoothedHinge

_SHARP = SmoothedHinge(0.05)
"""The authors do not smooth the hinge; the Newton steps of `smooth_svm` need some smoothing, and this is little."""


def gmkl(
    problem: Problem, z: Array, *, tol: float = 1e-3, max_iter: int = 100, callback: Callback | None = None
) -> Solution:
    """Minimise by projected gradients in the squares of z, with Armijo's rule.

    Parameters
    ----------
    problem, z, callback
        As in `alternate`; but with the squared penalty and a hinge that is smoothed ten times less than by default,
        whatever `problem` has.
    tol : float
        It stops when a step lowers the objective by less than a hundredth of this, relatively.
    max_iter : int
        Largest number of accepted steps.
    """
    own = replace(problem.classifiers, loss=_SHARP, penalty=SquaredPenalty(problem.classifiers.penalty.mu))
    sharp = replace(problem, classifiers=own)
    w, length = z**2, 1.0
    B, b, value = sharp.solve_classifiers(z)
    history, done, n_iter = [value], False, 0
    while n_iter < max_iter and not done:
        gradient = sharp.slopes(np.sqrt(w), B, b) + sharp.classifiers.penalty.mu
        length *= 4.0
        for _ in range(40):
            trial = np.maximum(w - length * gradient, 0.0)
            found = sharp.solve_classifiers(np.sqrt(trial), (B, b))
            if found[2] <= value - 1e-4 * float(gradient @ (w - trial)):
                break
            length *= 0.5
        else:
            done = True
            break
        done = value - found[2] <= tol * 1e-2 * abs(value)
        w, (B, b, value) = trial, found
        n_iter += 1
        history.append(value)
        if callback is not None:
            callback(n_iter, value, np.sqrt(w))
    return finished(sharp, np.sqrt(w), (B, b, value), history[:-1], n_iter, done, tol)
