"""Check a certificate of rarefy against data: one file, numpy only, nothing shared with the library. Copy it anywhere.

Usage: python check_certificate.py certificate.json data.npz [--labels y.npy] [--weights w.npy]; data.npz has X, perhaps
y and sample_weight, or is what scipy.sparse.save_npz wrote. Exit code 0: verified, 1: not verified, 2: unreadable.
"""

import json
import sys

import numpy as np
from numpy.linalg import LinAlgError, cholesky, norm, qr, svd

EPS, TOL, RESOLVED, EQUAL = 2.0**-52, 1e-8, 5e-4, 1e-6
METHODS = ("bss", "dual", "unweighted", "adaptive", "top", "all", "given", "replacement", "poisson")
entropy = lambda p: -sum(q * np.log(np.where(q > 0, q, 1)) for q in (p, 1 - p))
number = lambda value: np.inf if value is None else np.multiply(value, 1.0)  # JSON has no infinity
page = __import__("importlib.util").util.find_spec("check_subset") and __import__("check_subset")  # if it was copied
kinds = lambda v: {type(v)}.union(*map(kinds, v.values() if isinstance(v, dict) else v if isinstance(v, list) else ()))


def load(path, *options):
    z = np.load(path, allow_pickle=False)
    X = np.asarray_chkfinite(z["X" if "X" in z else "data"].astype(float, casting="same_kind"))
    if "X" not in z:
        X, data, major = np.zeros(z["shape"]), X, np.repeat(np.arange(len(z["indptr"]) - 1), np.diff(z["indptr"]))
        np.add.at(X, (major, z["indices"]) if z["format"].item() in (b"csr", "csr") else (z["indices"], major), data)
    given = lambda option, name: np.load(options[options.index(option) + 1]) if option in options else z.get(name)
    return X, given("--labels", "y"), given("--weights", "sample_weight")


def outward(low, high, condition, k, w2, complete, share, resolved):  # eigenvalues with a share of rounding's blur
    beside, c = np.sqrt([low * high, high * high]), 8 * np.sqrt(max(k, 4)) * EPS
    below, above = c * (condition * beside + high) + 2e-12 * beside
    lo, hi = (low - share * below) * (below <= resolved * low), high + share * above  # if blurred, the weights bound it
    return max(lo, w2.min()) if complete else lo, min(hi, w2.max()) if above <= resolved * high else w2.max()


def spectral(c, X, idx, w):  # (what, whether it holds)
    (n, d), (low, high), (top, bottom), (U, s, Vt) = X.shape, c["eigenvalues"], c["singular_values"], svd(X, False)
    floor, stated, s2, k = max(n, d) * EPS * s[0], +c["numerical_rank"], (s / norm(s)) ** 2, +c["rank"]
    rank = stated if (s > 2 * floor).sum() <= stated <= (s > floor / 2).sum() else int((s > floor).sum())
    yield "rank", 1 <= k <= rank and (rank == stated if c["complete"] else rank >= stated == k + 1)
    group, wide = np.cumsum([0, *(-np.diff(s[:rank]) > EQUAL * s[0])]), 1.1e-4 if c["proved"] else TOL
    if k < rank and group[k] == group[k - 1]:  # the cut divides equal singular values: the chosen vectors are a witness
        inside = (U.T if d > n else Vt)[equal := np.flatnonzero(group == group[k])] @ number(c["choice"])
        yield "choice", (abs(inside.T @ inside - np.eye(k - equal[0])) <= EQUAL).all()
        Vt[equal] = qr(np.hstack([inside, np.eye(len(equal))]))[0].T @ Vt[equal]
    ev, after = svd(Vt[:k, idx] * w, compute_uv=False) ** 2, s[k] if k < rank else 0.0
    found = (ev[-1] if len(idx) >= k else 0.0, ev[0], s[0] / s[k - 1], k, w**2, not np.delete(X, idx, axis=1).any())
    inner, outer = outward(*found, 0.5, 1.02 * RESOLVED), outward(*found, 2.0, 0.98 * RESOLVED)
    inward, q = outward(*found, -1.0, np.inf), np.sqrt(k / len(idx)) if k * c["n_requested"] > 1 else 0.0
    yield "smallest eigenvalue", max(0, outer[0] * (1 - wide)) <= low <= min(high, inner[0] * (1 + TOL))
    yield "largest eigenvalue", inner[1] / (1 + TOL) <= high <= outer[1] * (1 + wide)
    bss = {"own": 2 * q + q * q, "optimal": 2 * q / (1 + q * q)}.get(c["weighting"], np.inf) if q < 1 else np.inf
    yield "bound", max(1 - inward[0], inward[1] - 1) <= {"all": 0.0, "bss": bss}.get(c["method"], np.inf) + TOL
    if c["proved"]:  # low K <= P <= high K by Cholesky factorisations, all rounding included (Rump 2006)
        yield "proof", low > 0 and k == rank == n <= 4000
        scale = np.exp2(-np.round(np.log2(norm(X, axis=1))))[:, None]  # powers of two are exact
        K, P = (A @ A.T for A in (X * scale, X[:, idx] * w * scale))
        for x, sign in ((low, 1), (high, -1)):  # an error if it is not proved
            shift = 0.55 * EPS * ((d + n + 12) * x * np.trace(K) + (len(idx) + n + 12) * np.trace(P))
            cholesky(sign * (P - x * K) - shift * np.eye(n))
    yield "values", np.allclose([top, bottom, c["next_singular_value"]], [s[0], s[k - 1], after], 2e-7, 20 * EPS * s[0])
    hidden, (Q, t, _) = floor if rank < min(n, d) or not c["complete"] else 0.0, svd(X[:, idx], False)
    unseen = (X.any(axis=0) & (np.hypot.reduce(X, axis=0) <= hidden)).sum()
    yield "resolution", abs(hidden - c["resolution"]) <= 1e-4 * hidden and c["unseen"] == unseen
    span = norm(Q[:, t > max(n, len(idx)) * EPS * t[0]].T @ (X / norm(s))) ** 2 if min(len(idx), k) < stated else np.inf
    for name, a in (("energy_kept", s2[:k].sum()), ("explained", span), ("explainable", s2[: len(idx)].sum())):
        yield name, c[name] is None or abs(a - c[name]) <= 1e-12 + 1e-5 * min(a, 1 - a)
    part = ((Vt[k:rank, idx] * w * s[k:rank, None] / norm(s)) ** 2).sum() / s2[k:].sum() if s2[k:].any() else 0.0
    b, blurred = c["residual_ratio"], 1 / max((s[k - 1] - after) / s[0], EQUAL) + (s[0] / after if after else 0)
    yield "residual_ratio", b is None or abs(part - b) <= min(1e-6 + 100 * EPS * blurred, RESOLVED) * max(part, EPS)


def models(o, X, kept, y):  # a dual point bounds the objective from below, a primal point from above
    a, w, b, C, loss = np.array(o["dual"]), np.array(o["coef"]), np.array(o["intercept"]), number(o["C"]), o["loss"]
    one, bounded = np.unique(y)[len(np.unique(y)) == 2 :], loss in ("hinge", "logistic")  # each class against the rest
    Y = y.reshape(len(y), -1) if loss == "squared" and y.dtype.kind in "fiu" else 2.0 * (y.reshape(-1, 1) == one) - 1.0
    yield "shape", (a.shape, w.shape, *b.shape) == (Y.shape, (kept.shape[1], Y.shape[1]), Y.shape[1]) and 0 < C < np.inf
    alone = {"hinge": 1 - np.abs(m := Y.mean(0)), "logistic": entropy((1 + m) / 2)}.get(loss, Y.var(0)).sum()
    yield "empty", o["empty"] in (None, np.inf) or o["empty"] <= alone * C * len(X) * (1 + 1e-9)  # an intercept alone
    s, size, length, lengths, g = Y * a, np.abs(a), norm(X.T @ a, axis=0), norm(X, axis=1), (len(X) + 8) * EPS / 2
    gains = {"hinge": s, "logistic": C * entropy(s / C) - 4 * EPS * C}.get(loss, s - a * a / (4 * C))
    fuzz, off = g * lengths @ size, np.abs(a.sum(axis=0)) + g * size.sum(axis=0)  # 0, because the intercept is free
    slope = 50 + np.abs(Y).max(axis=0) + (size / C).max(axis=0) + (m := lengths.max()) * (length + fuzz + m * off)
    rounding = g * np.abs(gains).sum(axis=0) + 2 * g * length**2 + fuzz * length + fuzz**2 + off * slope
    yield "dual", (off <= 1e-9 * size.sum(0)).all() and (loss == "squared" or s.min() >= 0) and bounded * s.max() <= C
    yield "lower", -np.inf < o["lower"] <= (gains.sum(axis=0) - 0.5 * length**2 - rounding).sum()
    f, h = kept @ w + b, (sum(kept.shape) + 8) * EPS / 2
    m, fuzz = np.maximum(0, 1 - Y * f), h * (np.outer(norm(kept, axis=1), norm(w, axis=0)) + np.abs(b) + np.abs(f))
    losses = {"hinge": m, "squared_hinge": m**2, "logistic": np.logaddexp(0, -Y * f), "squared": (Y - f) ** 2}[loss]
    losses = losses + fuzz * (1.0 if bounded else 2 * (np.abs(Y) + np.abs(f) + fuzz))
    yield "upper", (0.5 * (w**2).sum() + C * losses.sum()) * (1 + 4 * h) <= o["upper"] < np.inf


def penalised(r, X, idx, w):  # K and P of all and of kept columns: (K+a)^-1/2 (P+a) (K+a)^-1/2 and (P+a)^-1 (K+a)
    X = X if len(X) <= X.shape[1] else np.vstack([qr(X, mode="r"), 0 * X[:1]])  # one row for all directions without K
    a, (U, s, _), (Q, t, _) = number(r["alpha"]), svd(X), svd(X[:, idx] * w)
    K, P = (np.append(v**2, np.zeros(len(X) - len(v))) for v in (s, t))
    root = np.hstack([U.T @ X[:, idx] * w, np.sqrt(a) * np.eye(len(X))]) / np.sqrt(K + a)[:, None]
    ratios, turn, room = svd(root, compute_uv=False) ** 2, Q.T @ U, 1e-6 + 100 * EPS * (1 + max(K[0], P[0]) / a)
    A, H, H_kept, slack = turn * (K + a) / (P + a)[:, None], K / (K + a), P / (P + a), 1 + min(room, RESOLVED)
    above = {"hi": ratios.max(), "bias_factor": norm(A, 2) ** 2, "bias_bound": (1 + norm(A - turn, 2)) ** 2}
    above["variance_factor"] = (H_kept**2).sum() / (H**2).sum()
    yield "lo", 0 < a < np.inf and r["lo"] <= ratios.min() * slack
    yield from ((name, value <= number(r[name]) * slack) for name, value in above.items())
    for name, value in (("effective_dimension", H.sum()), ("effective_dimension_kept", H_kept.sum())):
        yield name, abs(value - r[name]) <= RESOLVED * value + room * len(X)


def check(c, X, y, v=None):  # (what, whether it holds), to be read up to the first that does not
    idx, w, (n, d), method, sketch = np.array(c["indices"]), np.array(c["weights"]), X.shape, c["method"], c["sketch"]
    rows, chance = np.array(range(n) if c["rows"] is None else c["rows"]), c["failure_probability"]
    yield "indices", all(len({*v}) == len(v) and 0 <= min(v) <= max(v) < m for v, m in ((idx, d), (rows, n)))
    yield "weights", w.shape == idx.shape and (w >= 1e-100).all() and (w <= 1e100).all() and d == c["n_features"]
    yield "weighting", c["weighting"] in ("own", "optimal") or (c["weighting"] == "unit" and (w == 1).all())
    yield "method", method in METHODS and (0 < chance < 1 if method in METHODS[-2:] else chance is None)
    yield "choice", np.ndim(number([[]] if c["choice"] is None else c["choice"])) == 2
    yield "n_requested", len(idx) <= c["n_requested"] and (c["n_requested"] <= d or method == "all")
    yield "types", bool not in kinds({**c, "proved": 0, "complete": 0}) and type(c["proved"] & c["complete"]) is bool
    yield "sketch", c["energy_kept"] >= 0 and (sketch is None or 1 <= sketch["size"] < len(rows))
    G = sketch and np.random.default_rng(sketch["seed"]).standard_normal((sketch["size"], len(rows)))
    yield from spectral(c, X[rows] if G is None else G @ X[rows] / np.sqrt(len(G)), idx, w)
    yield from penalised(c["regularised"], X[rows], idx, w) if c["regularised"] is not None else ()
    yield "labels", c["objective"] is c["all_rows"] is c["optimal"] is None if y is None else len(y) == n
    yield from models(c["objective"], X, X[:, idx] * np.minimum(w, 1), y) if c["objective"] is not None else ()
    yield from page.optimal(c, X, y) if page and c["optimal"] is not None else ()  # beside the best columns there are
    if c["all_rows"] is not None:  # in the kept columns, rows beyond those that the eigenvalues are about do not matter
        yield "all_rows", c["rows"] is not None and not np.delete(c["all_rows"]["dual"], rows, 0).any()
        yield from models(c["all_rows"], X[:, idx] * w, X[:, idx] * w, y)


if __name__ == "__main__":
    try:
        c = json.loads(bytes(np.fromfile(sys.argv[1], np.uint8)))
        check = page.check if "n_chosen" in c else check  # how close a choice of columns is to the best one
        for what in (what for what, holds in check(c, *load(*sys.argv[2:])) if not holds):
            sys.exit(print(f"not verified: {what}") or 1)
    except Exception as error:  # a factorisation that fails proves nothing; anything else cannot be read
        sys.exit(print(f"{type(error).__name__}: {error}") or 2 - isinstance(error, LinAlgError))
    if "n_chosen" in c:
        sys.exit(print("verified\nthe best choice, at least", (c["lower_bound"] or 0) / number(c["objective"])) or 0)
    (low, high), o, r, whole = c["eigenvalues"], c["objective"], c["regularised"], c["rank"] == c["numerical_rank"]
    radius = high if whole and not c["unseen"] and c["sketch"] is None else 0
    floor = low if radius and len(c["indices"]) >= c["rank"] and low > 1e-12 * high else 0
    claims = {"squared radius, at most times": radius, "squared margin, at least times": floor}
    claims["ridge risk, any penalty, at most times"] = floor and max(min(1, low) ** -2, max(1, high) ** 2)
    claims["ridge risk, its penalty, at most times"] = r and max(*map(number, (r["bias_factor"], r["variance_factor"])))
    claims["objective, a share of at least"] = o and max(0, min(1, o["lower"] / o["upper"]))
    print("verified", *(f"{name} {value:g}" for name, value in claims.items() if value), sep="\n")
