"""Data with a rare class, and the loss of its pairs one by one."""

import numpy as np


def rare_data(seed=0, m=150, rare=15, d=3, shift=1.2):
    """The rare samples, which are shifted, come first."""
    y = (np.arange(m) < rare).astype(int)
    return np.random.default_rng(seed).standard_normal((m, d)) + shift * y[:, None], y


def ordered_data(seed, n, shares=(0.6, 0.25, 0.15), d=2):
    """Levels 0, 1, ...; higher ones are shifted further."""
    rng = np.random.default_rng(seed)
    y = rng.choice(len(shares), n, p=shares)
    return rng.standard_normal((n, d)) + y[:, None], y


def hinge(z, eps=0.5):
    return np.where(z >= 1, 0.0, np.where(z >= 1 - 2 * eps, (1 - z) ** 2 / (4 * eps), 1 - eps - z))


def value_by_pairs(f, y, penalty):
    return hinge(f[y == 1][:, None] - f[y == 0][None]).mean() + penalty
