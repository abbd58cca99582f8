"""Columns as a user would choose them instead: filters, elimination, l1 penalties, other packages.

Every function takes (X, y, r, C) and returns the numbers of r columns, the best first where there is an order. Packages
are imported when they are asked for.
"""

import numpy as np
import scipy.sparse as sp
from scipy.special import entr
from sklearn.feature_selection import RFE, SequentialFeatureSelector, chi2, f_classif
from sklearn.linear_model import lasso_path
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import LinearSVC, l1_min_c

from rarefy.selection import BSSSelector, LeverageScoreSelector

SEQUENTIAL_FITS = 4000
"""Fits of forward selection up to which it is run."""


def best(scores, r):
    return np.argsort(-np.nan_to_num(scores), kind="stable")[:r]


def by_chi2(X, y, r, C):
    """Of columns brought to [0, 1] where they have negative entries, as users do."""
    return best(chi2(X if sp.issparse(X) else MinMaxScaler().fit_transform(X), y)[0], r)


def by_f(X, y, r, C):
    return best(f_classif(X, y)[0], r)


def by_information(X, y, r, C):
    """Information gain: of a word's presence, or of a value above the column's median."""
    there = X.astype(bool) if sp.issparse(X) else np.median(X, axis=0) < X
    share = np.mean(y > 0)
    rest = np.asarray(there.sum(axis=0)).ravel() / len(y)
    both = np.asarray(there[y > 0].sum(axis=0)).ravel() / len(y)
    cells = (both, rest - both, share - both, 1.0 - share - rest + both)
    joint = sum(entr(np.maximum(cell, 0.0)) for cell in cells)
    return best(entr(rest) + entr(1.0 - rest) - joint, r)  # the entropy of the labels is the same for all columns


def by_rfe(X, y, r, C):
    model = LinearSVC(C=C, dual="auto", max_iter=5000, random_state=0)
    return np.flatnonzero(RFE(model, n_features_to_select=r, step=0.1).fit(X, y).support_)


def by_steps(X, y, r, C):
    """Forward selection by accuracy on five folds, where it is done in a minute or so."""
    if X.shape[1] * r * 5 > SEQUENTIAL_FITS or r >= X.shape[1]:
        return None
    model = LinearSVC(C=C, dual=False)
    return np.flatnonzero(SequentialFeatureSelector(model, n_features_to_select=r, cv=5).fit(X, y).support_)


def filled(coef, others, r):
    """The r largest coefficients; where fewer are not zero, the rest by another score."""
    order = best(np.abs(coef), r)
    order = order[np.abs(coef[order]) > 0]
    rest = others[~np.isin(others, order)]
    return np.append(order, rest[: r - len(order)])


def by_l1(X, y, r, C):
    """An SVM with l1 penalty: the first of a path (C times 1.3) with r coefficients, cut at r."""
    strength = l1_min_c(X, y, loss="squared_hinge") * 1.3
    coef = np.zeros(X.shape[1])
    for _ in range(40):
        model = LinearSVC(penalty="l1", dual=False, C=strength, tol=1e-3, random_state=0).fit(X, y)
        coef = model.coef_.ravel()
        if np.count_nonzero(coef) >= r:
            break
        strength *= 1.3
    return filled(coef, by_f(X, y, X.shape[1], C), r)


def by_lasso(X, y, r, C):
    """The first point of the Lasso's path with r coefficients, cut at r."""
    centred = y - y.mean()
    X = sp.csc_array(X) if sp.issparse(X) else np.asfortranarray(X)
    _, coefs, _ = lasso_path(X, centred.astype(float), n_alphas=60, eps=1e-3, max_iter=1000)
    counts = np.count_nonzero(coefs, axis=0)
    enough = np.flatnonzero(counts >= r)
    correlation = np.abs(np.asarray(X.T @ centred).ravel())
    return filled(coefs[:, enough[0] if len(enough) else -1], best(correlation, X.shape[1]), r)


def by_bss(X, y, r, C):
    """Without labels."""
    return BSSSelector(r).fit(X).selection_order_


def by_leverage(X, y, r, C):
    """Without labels: the highest leverage scores."""
    return LeverageScoreSelector(r, random_state=0).fit(X).selection_order_


def by_abess(X, y, r, alpha, logistic=False):
    """abess with an l2 penalty; it wants dense or sparse columns, and labels 0 and 1 for classes."""
    from abess import LinearRegression, LogisticRegression

    if logistic:
        model = LogisticRegression(support_size=[r], alpha=[alpha]).fit(X, (np.asarray(y) > 0).astype(int))
    else:
        model = LinearRegression(support_size=[r], alpha=[alpha]).fit(X, np.asarray(y, dtype=float))
    return np.flatnonzero(np.asarray(model.coef_).ravel())


def by_skscope(X, y, r, C, logistic=False):
    """skscope's splicing on the very objective that we minimise."""
    import jax
    import jax.numpy as jnp
    from skscope import ScopeSolver

    jax.config.update("jax_enable_x64", True)
    A, t, d = jnp.asarray(X), jnp.asarray(y, dtype=float), X.shape[1]

    def objective(params):
        scores = A @ params[:d] + params[d]
        losses = jnp.logaddexp(0.0, -t * scores) if logistic else (t - scores) ** 2
        return 0.5 * jnp.sum(params[:d] ** 2) + C * jnp.sum(losses)

    params = ScopeSolver(d + 1, r + 1, preselect=[d]).solve(objective, jit=True)
    return np.flatnonzero(np.asarray(params)[:d])


CHOOSERS = {
    "chi2": by_chi2,
    "F": by_f,
    "RFE": by_rfe,
    "sequential": by_steps,
    "l1 SVM": by_l1,
    "Lasso": by_lasso,
    "BSS": by_bss,
    "leverage": by_leverage,
}
USES_C = ("RFE", "sequential")
"""The others choose the same columns for every C."""
