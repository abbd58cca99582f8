"""The page of check_certificate.py for certificates of BestSubsetSelector: how close is a choice to the best one.

Models of n samples in the chosen columns minimise 1/2 |w|^2 + the sum of C times losses; Y has one column a model, C
one entry a sample. Dual variables a, like Y, of the right signs and sizes and with columns that sum to 0, prove that no
choice of r groups of columns has an objective below

    sum of the gains of a - 1/2 (sum of the r largest pulls),  the pull of a group: sum of (x_j^T a)^2 over its columns.
"""

import numpy as np
from numpy.linalg import norm

EPS = 2.0**-52
FLAGS = dict.fromkeys(("classified", "standardized", "weighted"), 0)
entropy = lambda p: -sum(q * np.log(np.where(q > 0, q, 1)) for q in (p, 1 - p))
number = lambda value: np.inf if value is None else np.multiply(value, 1.0)  # JSON has no infinity
kinds = lambda v: {type(v)}.union(*map(kinds, v.values() if isinstance(v, dict) else v if isinstance(v, list) else ()))


def below(a, X, Y, C, loss, length):  # what a dual point proves: gains rounded down, pulls of the columns rounded up
    s, size, g = Y * a, np.abs(a), (len(X) + 8) * EPS / 2  # length: no row of X is longer
    allowed = [a.shape == Y.shape, loss == "squared" or s.min() >= 0, loss[:7] == "squared" or (s <= C).all()]
    gains = {"hinge": s, "logistic": C * entropy(s / C) - 4 * EPS * C}.get(loss, s - a * a / (4 * C))
    pull = np.abs(X.T @ a) + g * np.abs(X).T @ size
    off = np.abs(a.sum(axis=0)) + g * size.sum(axis=0)  # one entry moves by this, so that the sum is 0
    slope = 50 + np.abs(Y).max(axis=0) + (size / C).max(axis=0) + length * norm(pull, axis=0) + length**2 * off
    proved = gains.sum() - g * np.abs(gains).sum() - (off * slope).sum()
    right = all(allowed) and (off <= 1e-9 * size.sum(axis=0)).all()
    return proved if right else -np.inf, (pull**2).sum(axis=1) * (1 + sum(X.shape) * EPS)


def above(w, b, X, Y, C, loss):  # the objective of a model, rounded up
    f, h = X @ w + b, (sum(X.shape) + 8) * EPS / 2
    m, fuzz = np.maximum(0, 1 - Y * f), h * (np.outer(norm(X, axis=1), norm(w, axis=0)) + np.abs(b) + np.abs(f))
    losses = {"hinge": m, "squared_hinge": m**2, "logistic": np.logaddexp(0, -Y * f), "squared": (Y - f) ** 2}[loss]
    losses = losses + fuzz * (2 * (np.abs(Y) + np.abs(f) + fuzz) if loss[:7] == "squared" else 1.0)
    return (0.5 * (w**2).sum() + (C * losses).sum()) * (1 + 4 * h) if w.shape[1:] == b.shape == Y.shape[1:] else np.inf


def branches(tree, duals, r, value, group, *data):  # choices with a group and without it, and so on, down to leaves
    waiting, bounds, numbers = [(set(), set())], [], np.arange(max(group) + 1)
    always = never = numbers >= 0
    for g in tree:  # in preorder; -1 is a leaf
        inside, outside = waiting.pop()
        if g >= 0:
            waiting += [(inside, outside | {g}), (inside | {g}, outside)]
            continue
        gains, pulls = below(duals[len(bounds)], *data)
        pulls, count = np.bincount(group, pulls), r - len(inside)
        free, fixed = np.sort(np.delete(pulls, [*inside | outside]))[::-1], pulls[[*inside]].sum()
        bounds.append(gains - (fixed + free[:count].sum()) / 2 if 0 <= count <= len(free) else np.inf)
        if bounds[-1] <= value:  # else no choice of this leaf is a best one
            room, within, without = 2 * (value - bounds[-1]), np.isin(numbers, [*inside]), np.isin(numbers, [*outside])
            last, following = np.append(free[:count], np.inf)[-1 - (count > 0)], np.append(free, -np.inf)[count]
            always = always & (within | (~without & (pulls - following > room)))
            never = never & (without | (~within & (last - pulls > room)))
    whole = len(bounds) == len(duals) and not waiting
    return (min(bounds), always, never) if whole else (-np.inf, numbers < 0, numbers < 0)


def optimal(c, X, y):  # how close the columns of another certificate are to the best as many, from both sides
    o, idx, loss, C = c["optimal"], np.array(c["indices"]), c["objective"]["loss"], number(c["objective"]["C"])
    one, best, w = np.unique(y)[len(np.unique(y)) == 2 :], np.array(o["best"]), np.minimum(c["weights"], 1)
    Y = y.reshape(len(y), -1) if loss == "squared" and y.dtype.kind in "fiu" else 2.0 * (y.reshape(-1, 1) == one) - 1.0
    yield "best", best.dtype.kind == "i" and best.shape == idx.shape and len({*best}) == len(best)
    yield "best", 0 <= min(best) <= max(best) < X.shape[1]
    gains, pulls = below(number(o["dual"]), X, Y, C, loss, norm(X, axis=1).max())
    yield "lower", -np.inf < o["lower"] <= gains - np.sort(pulls)[::-1][: len(idx)].sum() / 2
    gains, pulls = below(number(o["own_dual"]), X[:, idx] * w, Y, C, loss, norm(X[:, idx] * w, axis=1).max())
    yield "own_lower", -np.inf < o["own_lower"] <= gains - pulls.sum() / 2
    reached = above(number(o["best_coef"]), number(o["best_intercept"]), X[:, best], Y, C, loss)
    yield "best_upper", reached <= o["best_upper"] < np.inf


def check(c, X, y, weight):  # (what, whether it holds), to be read up to the first that does not
    (n, d), r, C, loss, value = X.shape, c["n_chosen"], number(c["C"]), c["loss"], number(c["objective"])
    group = np.array(range(d) if c["groups"] is None else c["groups"])
    idx, settled, counts = np.array(c["indices"]), np.array(c["settled"]), np.array([r, c["n_features"]])
    yield "types", all(type(c[k]) is bool for k in FLAGS) and bool not in kinds(c | FLAGS)
    yield "integers", all(v.dtype.kind == "i" and v.ndim == 1 for v in (idx, settled, group, counts))
    yield "indices", len({*idx}) == len(idx) and 0 <= min(idx) <= max(idx) < d == c["n_features"] == len(group)
    yield "groups", {*group} == {*range(len(settled))} and {*settled} <= {-1, 0, 1}
    yield "choice", len({*group[idx]}) == r and np.array_equal(np.flatnonzero(np.isin(group, group[idx])), np.sort(idx))
    yield "loss", 0 < C < np.inf and (c["classified"] or loss == "squared")
    yield "labels", y is not None and len(y) == n and (c["classified"] or y.dtype.kind in "biuf")
    classes = np.unique(y)
    Y = 2.0 * (y.reshape(n, 1) == classes[len(classes) == 2 :]) - 1.0 if c["classified"] else y.reshape(n, -1) * 1.0
    weight = np.asarray_chkfinite(np.ones(n) if weight is None else weight)
    X, Y, C = X[weight > 0], Y[weight > 0], C * weight[weight > 0, None]  # samples of weight 0 do not count
    uneven = (number(c["C"]) != C).any()
    yield "sample weights", weight.shape == (n,) and weight.min() >= 0 and uneven == c["weighted"]
    longest, scale = norm(X, axis=1).max(), np.ones(d)
    if c["standardized"]:  # columns are divided by their standard deviations; constant ones are left out
        mean = np.average(X, axis=0, weights=C[:, 0] / C.max())
        deviation = np.sqrt(np.average((X - mean) ** 2, axis=0, weights=C[:, 0] / C.max()))
        scale = 1 / np.where(deviation <= 1e-12 * np.abs(X).max(axis=0), np.inf, deviation)
    X = X * scale
    data = (X, Y, C, loss, min(norm(X), longest * scale.max()) * (1 + (sum(X.shape) + 8) * EPS / 2))
    points = [c[k] for k in ("dual", "leaf_duals", "all_columns_dual") if c[k] is not None]
    yield "finite", all(np.isfinite(number(point)).all() for point in points)
    gains, pulls = below(number(c["dual"]), *data)
    pulls = np.bincount(group, pulls)
    order = np.append(np.sort(pulls)[::-1], 0)
    bound = gains - order[:r].sum() / 2
    leaves, tree = number(c["leaf_duals"]), np.array(c["tree"])
    nodes = tree.dtype.kind == "i" and tree.min() >= -1
    yield "tree", c["tree"] is c["leaf_duals"] is None or (leaves.shape[1:] == Y.shape and nodes)
    least, every, none = (bound, settled > 1, settled > 1)
    if c["tree"] is not None:
        least, every, none = branches(tree, leaves, r, value, group, *data)
    yield "lower_bound", c["lower_bound"] is None or c["lower_bound"] <= max(bound, least)
    yield "objective", above(number(c["coef"]), number(c["intercept"]), X[:, idx], Y, C, loss) <= value
    # Without a group of the r largest the next one enters the bound, with another group the last of the r leaves it.
    always, never = pulls - order[r] > 2 * (value - bound), order[r - 1] - pulls > 2 * (value - bound)
    yield "settled", (always | every | (r == len(pulls)))[settled == 1].all() and (never | none)[settled == -1].all()
    whole = number(c["all_columns_dual"])
    yield "all_columns_dual", c["all_columns_dual"] is None or whole.shape == Y.shape
    if c["all_columns_bound"] is not None:
        gains, pulls = below(whole, *data)
        yield "all_columns_bound", c["all_columns_bound"] <= gains - pulls.sum() / 2
