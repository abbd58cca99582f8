"""Plain twins of the fast algorithms: every column at every step, dense inverses, full SVD."""

import numpy as np


def right_vectors(X):
    """V, sigma by a full dense SVD with numpy's rank rule."""
    X = X.toarray() if hasattr(X, "toarray") else np.asarray(X, dtype=float)
    _, sigma, Vt = np.linalg.svd(X, full_matrices=False)
    rank = int(np.sum(sigma > sigma[0] * max(X.shape) * np.finfo(float).eps))
    return Vt[:rank].T, sigma[:rank]


def collect(draws, t):
    """Distinct features in order of first choice; squared weights of repeats add up."""
    total = {}
    for i, weight2 in zip(draws, t, strict=True):
        total[i] = total.get(i, 0.0) + weight2
    return np.array(list(total)), np.sqrt(list(total.values()))


def choose(allowed, taken, norms2):
    """The tie rule: not taken before, then longest, then lowest index."""
    pool = np.flatnonzero(allowed & ~taken)
    if not len(pool):
        pool = np.flatnonzero(allowed & taken)
    key = np.round(norms2[pool], 12)
    return pool[np.flatnonzero(key == key.max())[0]]


def bss(V, r):
    d, ell = V.shape
    identity = np.eye(ell)
    ratio = np.sqrt(ell / r)
    delta_U = (1 + ratio) / (1 - ratio)
    norms2 = (V**2).sum(axis=1)
    nonzero = norms2 > 1e-26 * norms2.max()
    A = np.zeros((ell, ell))
    taken = np.zeros(d, dtype=bool)
    draws, weights2 = [], []
    for tau in range(r):
        L, U = tau - np.sqrt(r * ell), delta_U * (tau + np.sqrt(r * ell))
        lam = np.linalg.eigvalsh(A)
        P, Q = np.linalg.inv(A - (L + 1) * identity), np.linalg.inv((U + delta_U) * identity - A)
        gain_L = np.sum(1 / (lam - L - 1)) - np.sum(1 / (lam - L))
        gain_U = np.sum(1 / (U - lam)) - np.sum(1 / (U + delta_U - lam))
        lower = np.einsum("ij,jk,ik->i", V, P @ P, V) / gain_L - np.einsum("ij,jk,ik->i", V, P, V)
        upper = np.einsum("ij,jk,ik->i", V, Q @ Q, V) / gain_U + np.einsum("ij,jk,ik->i", V, Q, V)
        i = choose((upper <= lower) & nonzero, taken, norms2)
        t = 2 / (upper[i] + lower[i])
        A += t * np.outer(V[i], V[i])
        taken[i] = True
        draws.append(i)
        weights2.append(t)
    return collect(draws, np.array(weights2) * (1 - ratio) / r)


def dual_set(V, residual2, r):
    d, ell = V.shape
    ratio = np.sqrt(ell / r)
    norms2 = (V**2).sum(axis=1)
    nonzero = norms2 > 1e-26 * norms2.max()
    total = residual2.sum()
    upper = residual2 / total * (1 - ratio) if total else np.zeros(d)
    A = np.zeros((ell, ell))
    taken = np.zeros(d, dtype=bool)
    draws, weights2 = [], []
    for tau in range(r):
        L = tau - np.sqrt(r * ell)
        lam = np.linalg.eigvalsh(A)
        P = np.linalg.inv(A - (L + 1) * np.eye(ell))
        gain = np.sum(1 / (lam - L - 1)) - np.sum(1 / (lam - L))
        lower = np.einsum("ij,jk,ik->i", V, P @ P, V) / gain - np.einsum("ij,jk,ik->i", V, P, V)
        i = choose((upper <= lower) & nonzero, taken, norms2)
        t = 2 / (upper[i] + lower[i])
        A += t * np.outer(V[i], V[i])
        taken[i] = True
        draws.append(i)
        weights2.append(t)
    return collect(draws, np.array(weights2) * (1 - ratio) / r)


def unweighted(V, k, raise_share=0.25):
    """One lower barrier: every row scored at every step with dense inverses, the barrier found by a root finder."""
    from scipy.optimize import brentq

    ell = V.shape[1]
    norms2 = (V**2).sum(axis=1)
    free = norms2 > 1e-26 * norms2.max()
    q = np.sqrt((ell - 0.5) / k)
    level = k * ell / np.sort(norms2)[-k:].sum() * q / (1 - q)
    A, L, chosen = np.zeros((ell, ell)), -ell / level, []
    while len(chosen) < k and free.any():
        if np.trace(np.linalg.inv(A - L * np.eye(ell))) < (1 - raise_share) * level:
            lam = np.linalg.eigvalsh(A)
            ends = lam[0] - 1.01 * ell / level, lam[0] - 0.99 / level
            L = brentq(lambda x, lam=lam: np.sum(1 / (lam - x)) - level, *ends, xtol=1e-18, rtol=1e-15)
        P = np.linalg.inv(A - L * np.eye(ell))
        gains = ((V @ P) ** 2).sum(axis=1) / (1 + np.einsum("ij,jk,ik->i", V, P, V))
        i = np.flatnonzero(free & (gains >= (1 - 1e-9) * gains[free].max()))[0]
        A += np.outer(V[i], V[i])
        free[i] = False
        chosen.append(i)
    return np.array(chosen)


def adaptive_columns(X, V):
    """The residual matrix itself, a null space for the directions left, every column at every step."""
    from scipy.linalg import null_space

    E, chosen = X - X @ V @ V.T, []
    noise = 1e-10 * np.linalg.norm(X, axis=0).max()
    E[:, np.linalg.norm(E, axis=0) <= noise] = 0
    while V.shape[1]:
        nu2 = (V**2).sum(axis=1)
        usable = nu2 > 1e-9 * V.shape[1] / len(V)
        quotient = np.where(usable, (E**2).sum(axis=0) / np.where(usable, nu2, 1), np.inf)
        mean = (E**2).sum() / nu2[usable].sum()
        pool = np.flatnonzero(quotient <= quotient.min() + 1e-9 * mean)
        key = np.round(nu2[pool], 12)
        j = pool[np.flatnonzero(key == key.max())[0]]
        u = V[j] / np.linalg.norm(V[j])
        E = E - np.outer(E[:, j], V @ u / (V[j] @ u))
        E[:, j] = 0
        V = V @ null_space(u[None, :])
        chosen.append(j)
    return np.array(chosen, dtype=int)


def sandwich(V, indices, weights):
    """Eigenvalues of V'RR'V, increasing."""
    R = np.zeros((V.shape[0], len(indices)))
    R[indices, np.arange(len(indices))] = weights
    return np.linalg.eigvalsh(V.T @ R @ R.T @ V)


def ball_radius2(X):
    """Squared radius of the smallest enclosing ball: a general solver on the primal."""
    from scipy.optimize import minimize

    n, d = X.shape
    centre = X.mean(axis=0)
    start = np.append(centre, ((X - centre) ** 2).sum(axis=1).max())
    found = minimize(
        lambda v: v[-1],
        start,
        jac=lambda v: np.append(np.zeros(d), 1.0),
        constraints={
            "type": "ineq",
            "fun": lambda v: v[-1] - ((X - v[:-1]) ** 2).sum(axis=1),
            "jac": lambda v: np.hstack([2 * (X - v[:-1]), np.ones((n, 1))]),
        },
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    return found.x[-1]


def svm_dual(K, y, C=np.inf):
    """Dual optimum of the SVM with intercept and (alpha, optimal value): a general solver."""
    from scipy.optimize import minimize

    n = len(y)
    H = K * np.outer(y, y)
    found = minimize(
        lambda a: 0.5 * a @ H @ a - a.sum(),
        np.zeros(n),
        jac=lambda a: H @ a - 1,
        bounds=[(0, None if np.isinf(C) else C)] * n,
        constraints={"type": "eq", "fun": lambda a: a @ y, "jac": lambda a: y.astype(float)},
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 2000},
    )
    alpha = np.clip(found.x, 0, C)
    return alpha, alpha.sum() - 0.5 * alpha @ H @ alpha


def information_gain(X, y):
    """Presence and absence counted in loops."""
    from math import log2

    def entropy(labels):
        shares = [labels.count(c) / len(labels) for c in set(labels)]
        return -sum(p * log2(p) for p in shares)

    y = list(y)
    gains = []
    for column in np.asarray(X).T:
        parts = [[c for c, v in zip(y, column, strict=True) if (v != 0) == present] for present in (True, False)]
        gains.append(entropy(y) - sum(len(p) / len(y) * entropy(p) for p in parts if p))
    return np.array(gains)


def relief(X, y, k=1):
    """ReliefF in loops: k hits, k misses of every other class weighted by its share."""
    X, y = np.asarray(X, dtype=float), np.asarray(y)
    spread = X.max(axis=0) - X.min(axis=0)
    X = X / np.where(spread > 0, spread, 1)
    scores = np.zeros(X.shape[1])
    for i in range(len(y)):
        distance = np.abs(X - X[i]).sum(axis=1)
        for c in np.unique(y):
            others = [j for j in range(len(y)) if y[j] == c and j != i]
            near = sorted(others, key=lambda j: distance[j])[:k]
            if not near:
                continue
            weight = -1.0 if c == y[i] else np.mean(y == c) / (1 - np.mean(y == y[i]))
            scores += weight * np.mean([np.abs(X[i] - X[j]) for j in near], axis=0) / len(y)
    return scores


def l1_svm(X, y, C):
    """The linear program of the 1-norm SVM, solved by HiGHS; returns the optimum."""
    from scipy.optimize import linprog

    n, d = X.shape
    cost = np.concatenate([np.ones(2 * d), [0.0], np.full(n, C)])
    B = X * y[:, None]
    A = -np.hstack([B, -B, -y[:, None], np.eye(n)])
    bounds = [(0, None)] * (2 * d) + [(None, None)] + [(0, None)] * n
    return linprog(cost, A_ub=A, b_ub=-np.ones(n), bounds=bounds, method="highs").fun
