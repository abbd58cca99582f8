"""Check a certificate of rarefy against data: one file, numpy only, nothing shared with the library. Copy it anywhere.

    python check_certificate.py certificate.json data.npz [--labels y.npy]

data.npz has an array X (and y where labels are claimed about), or is what scipy.sparse.save_npz wrote. Exit code 0: every
number that a claim is derived from follows from the data; 1: some do not, with the reasons; 2: something is unreadable.
V: right singular vectors of X; R: the kept columns and their weights. All claims follow from the interval of eigenvalues
of V'RR'V, from singular values, and from points that bound a machine's objective (weak duality).
"""
import json, sys
import numpy as np

EPS, UNIT, RESOLVED, EQUAL = 2.0**-52, 2.0**-53, 5e-4, 1e-6
METHODS = ("bss", "dual", "unweighted", "adaptive", "replacement", "poisson", "top", "all", "given")

def load(path):
    z = np.load(path, allow_pickle=False)
    if "X" in z:
        return np.asarray(z["X"], float), z["y"] if "y" in z else None
    X, major = np.zeros(z["shape"]), np.repeat(np.arange(len(z["indptr"]) - 1), np.diff(z["indptr"]))
    where = (major, z["indices"]) if z["format"].item() in (b"csr", "csr") else (z["indices"], major)
    np.add.at(X, where, z["data"].astype(float))
    return X, None

def blur(value, high, condition, size):  # how far rounding may have moved an eigenvalue
    beside = np.sqrt(max(value, 0.0) * high)
    return 8 * np.sqrt(max(size, 4)) * EPS * (condition * beside + high) + 2e-12 * beside

def outward(low, high, condition, size, w2, complete, share):
    dim = blur(low, high, condition, size)
    lo = low - share * dim if dim <= RESOLVED * low else 0.0
    return max(lo, w2.min()) if complete else lo, min(high + share * blur(high, high, condition, size), w2.max())

def positive(A, shift):  # proof by a Cholesky factorisation that runs to its end (Rump 2006)
    try:
        np.linalg.cholesky(A - shift * np.eye(len(A)))
        return bool(np.isfinite(A).all() and (A.diagonal() >= shift).all())
    except np.linalg.LinAlgError:
        return False

def proved(X, B, low, high):
    n, d, k = *X.shape, B.shape[1]
    scale = np.exp2(-np.round(np.log2(np.linalg.norm(X, axis=1))))[:, None]  # powers of two: exact
    X, B = X * scale, B * scale
    K, P, gamma = X @ X.T, B @ B.T, lambda m: m * UNIT / (1 - m * UNIT)
    shift = lambda c: 1.1 * (gamma(d + n + 12) * c * np.trace(K) + gamma(k + n + 12) * np.trace(P))
    return positive(P - low * K, shift(low)) and positive(high * K - P, shift(high))

def spectral(c, X, idx, w):  # (name, whether it holds)
    (n, d), (low, high) = X.shape, c["eigenvalues"]
    A = X.T if d > n else X
    _, s, Wt = np.linalg.svd(np.linalg.qr(A, mode="r"))
    s, floor = s[: min(n, d)], max(n, d) * EPS * s[0]
    rank = c["numerical_rank"] if (s > 2 * floor).sum() <= c["numerical_rank"] <= (s > floor / 2).sum() else (s > floor).sum()
    k = max(1, min(c["rank"], rank))
    V = (X.T @ Wt[:rank].T / s[:rank] if d > n else Wt[:rank].T)
    apart = -np.diff(s[:rank]) > EQUAL * s[0]
    if k < rank and not apart[k - 1]:  # the cut divides equal singular values: which were chosen is a witness
        first = max([i + 1 for i in range(k - 1) if apart[i]], default=0)
        last = min([i + 1 for i in range(k, rank - 1) if apart[i]], default=rank)
        inside = Wt[first:last] @ np.asarray(c["choice"] if c["choice"] is not None else np.zeros((Wt.shape[1], k - first)))
        yield "choice", np.abs(inside.T @ inside - np.eye(k - first)).max() <= EQUAL
        V[:, first:last] = V[:, first:last] @ np.linalg.qr(np.hstack([inside, np.eye(last - first)]))[0]
    B, out = V[idx] * w[:, None], np.setdiff1d(np.arange(d), idx)
    ev = np.linalg.svd(B[:, :k], compute_uv=False) ** 2
    found = (ev[-1] if len(idx) >= k else 0.0, ev[0], s[0] / s[k - 1], k, w**2, not X[:, out].any())
    inner, outer, wide = outward(*found, 0.5), outward(*found, 2.0), 1.1e-4 if c["proved"] else 1e-8
    faint = blur(found[0], found[1], *found[2:4]) > RESOLVED / 2 * found[0]
    yield "eigenvalues", low <= inner[0] * (1 + 1e-8) and (low >= outer[0] * (1 - wide) or (low == 0 and faint))
    yield "eigenvalues", high * (1 + 1e-8) >= inner[1] and high <= outer[1] * (1 + wide)
    yield "rank", (k, rank) == (c["rank"], c["numerical_rank"])
    following = s[k] if k < rank else 0.0
    for a, b in zip((s[0], s[k - 1], following), (*c["singular_values"], c["next_singular_value"])):
        yield "singular values", abs(a - b) <= (1e-8 + (min(2e-7, 4 * EPS * (s[0] / a) ** 2) if a else 0)) * a + 20 * EPS * s[0]
    hidden, s2 = floor if rank < min(n, d) else 0.0, (s / s[0]) ** 2
    short = np.linalg.norm(X, axis=0)
    yield "resolution", abs(c["resolution"] - hidden) <= 1e-4 * hidden
    yield "unseen", c["unseen"] == ((short > 0) & (short <= hidden)).sum()
    near = lambda a, b: b is None or abs(a - b) <= 1e-12 + 1e-5 * min(a, 1 - a)
    yield "energy_kept", near(s2[:k].sum() / s2.sum(), c["energy_kept"])
    if c["residual_ratio"] is not None:
        part = ((X[:, idx] * w) ** 2).sum() / s[0] ** 2 - ((B[:, :k] * s[:k] / s[0]) ** 2).sum() if k < rank else 0.0
        part = ((B[:, k:] * s[k:rank] / s[0]) ** 2).sum() / max(s2[k:].sum(), 1e-300) if k < rank else 0.0
        allowed = 1e-6 + 100 * EPS * s[0] * (1 / max(s[k - 1] - following, EQUAL * s[0]) + (1 / following if following else 0))
        yield "residual_ratio", abs(c["residual_ratio"] - part) <= min(allowed, RESOLVED) * max(part, EPS)
    if c["explained"] is not None:
        U, t, _ = np.linalg.svd(X[:, idx], full_matrices=False)
        yield "explained", near(((U[:, t > max(n, len(idx)) * EPS * t[0]].T @ X) ** 2).sum() / (X**2).sum(), c["explained"])
    yield "explainable", near(s2[: len(idx)].sum() / s2.sum(), c["explainable"])
    q, weighted = np.sqrt(k / len(idx)), c["method"] == "bss" and c["weighting"] != "unit"
    bound = (2 * q + q * q if c["weighting"] == "own" else 2 * q / (1 + q * q)) if weighted and q < 1 else np.inf
    bound = 0.0 if c["method"] == "all" or (weighted and k == len(idx) == c["n_requested"] == 1) else bound
    yield "bound", max(1 - found[0], found[1] - 1) <= bound + 1e-8 + blur(found[1], *found[1:4])
    yield "proof", not c["proved"] or (0 < low and k == rank == n <= 4000 and proved(X, X[:, idx] * w, low, high))

def machines(o, X, kept, y):  # a dual point bounds the objective from below, a primal point from above
    y = np.asarray(y)
    classes = np.unique(y)
    Y = y.reshape(len(y), -1).astype(float) if o["loss"] == "squared" and y.dtype.kind in "fiu" else (
        np.where(y[:, None] == (classes[1:] if len(classes) == 2 else classes), 1.0, -1.0))
    beta, W, b, C = np.array(o["dual"], float), np.array(o["coef"], float), np.array(o["intercept"], float), o["C"]
    if beta.shape != Y.shape or W.shape != (kept.shape[1], Y.shape[1]) or b.shape != Y.shape[1:] or not C > 0:
        return False
    f, z, loss = kept @ W + b, None, o["loss"]
    z, size = Y * f, Y * beta
    p = np.clip(size / C, 1e-300, 1 - 1e-16)
    gains = {"hinge": size, "logistic": -C * (p * np.log(p) + (1 - p) * np.log1p(-p)) * (size > 0) * (size < C)}.get(
        loss, size - beta**2 / (4 * C))
    values = {"hinge": np.maximum(0, 1 - z), "logistic": np.logaddexp(0, -z), "squared": (Y - f) ** 2,
              "squared_hinge": np.maximum(0, 1 - z) ** 2}[loss]
    allowed = loss == "squared" or ((size >= 0).all() and (loss == "squared_hinge" or (size <= C).all()))
    balanced = (np.abs(beta.sum(axis=0)) <= 1e-9 * np.abs(beta).sum(axis=0)).all()  # the intercept is free
    lower, upper = gains.sum() - 0.5 * ((X.T @ beta) ** 2).sum(), 0.5 * (W**2).sum() + C * values.sum()
    return bool(allowed and balanced and o["lower"] <= lower and o["upper"] >= upper)

def penalised(r, X, idx, w):  # ridge with one penalty
    (n, d), a = X.shape, r["alpha"]
    X = np.linalg.qr(X, mode="r") if n > d else X  # K is zero on what this leaves out, and nothing changes there
    B, eye, s = X[:, idx] * w, a * np.eye(len(X)), 1 + RESOLVED
    K, P = X @ X.T, B @ B.T
    L = np.linalg.inv(np.linalg.cholesky(K + eye))
    ratios = np.append(np.linalg.eigvalsh(L @ (P + eye) @ L.T), [1.0] * (n > d))
    before, after = (np.maximum(np.linalg.eigvalsh(M), 0) for M in (K, P))
    bias = max(np.linalg.norm(np.linalg.solve(P + eye, K + eye), 2) ** 2, float(n > d))
    yield "penalised interval", ratios.min() / 1.01 <= r["lo"] <= ratios.min() * s and r["hi"] >= ratios.max() / s
    variance = ((after / (after + a)) ** 2).sum() / ((before / (before + a)) ** 2).sum()
    for name, value in (("bias_factor", bias), ("variance_factor", variance)):
        yield name, value / s <= (np.inf if r[name] is None else r[name])
    for name, e in (("effective_dimension", before), ("effective_dimension_kept", after)):
        yield name, abs(r[name] / (e / (e + a)).sum() - 1) <= RESOLVED


def check(c, X, y):
    """Names of what does not follow from the data."""
    idx, w, rows = np.array(c["indices"], int), np.array(c["weights"], float), c["rows"]
    distinct = [len(set(v)) == len(v) and min(v) >= 0 and max(v) < m for v, m in ((c["indices"], X.shape[1]), (rows or [0], len(X)))]
    if X.shape[1] != c["n_features"] or not all(distinct) or w.shape != idx.shape or not (np.isfinite(w) & (w > 0)).all():
        return ["selection"]
    chance, drawn = c["failure_probability"], c["method"] in ("replacement", "poisson")
    known = c["method"] in METHODS and c["weighting"] in ("own", "optimal", "unit") and (0 < chance < 1 if drawn else chance is None)
    asked = len(idx) <= c["n_requested"] and (c["method"] == "all" or c["n_requested"] <= c["n_features"])
    checks = [("method", known and asked and (c["weighting"] != "unit" or (w == 1).all()))]
    part = X if rows is None else X[rows]
    if c["sketch"] is not None:
        size, seed = c["sketch"]["size"], c["sketch"]["seed"]
        part = np.random.default_rng(seed).standard_normal((size, len(part))) @ part / np.sqrt(size)
    checks += [*spectral(c, part, idx, w)]
    if c["regularised"] is not None:
        checks += [*penalised(c["regularised"], part, idx, w)]
    if c["objective"] is not None:
        checks.append(("objective", y is not None and machines(c["objective"], X, X[:, idx] * np.minimum(w, 1), y)))
    if c["all_rows"] is not None:
        others = np.setdiff1d(np.arange(len(X)), rows)
        fixed = rows is not None and y is not None and not np.array(c["all_rows"]["dual"])[others].any()
        checks.append(("all_rows", fixed and machines(c["all_rows"], X[:, idx] * w, X[:, idx] * w, y)))
    return [name for name, right in checks if not right]


if __name__ == "__main__":
    try:
        (X, y), c = load(sys.argv[2]), json.load(open(sys.argv[1]))
        wrong = check(c, X, np.load(sys.argv[4]) if sys.argv[3:4] == ["--labels"] else y)
    except Exception as error:  # whatever it is, nothing was checked
        print(f"unreadable: {type(error).__name__}: {error}")
        sys.exit(2)
    print(f"NOT VERIFIED: {', '.join(wrong)}" if wrong else f"verified; what follows:\n{c['statement']}")
    sys.exit(1 if wrong else 0)
