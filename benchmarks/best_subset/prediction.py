"""Tables (d) to (f): test errors with C chosen on inner folds, stability over resamples, true columns found."""

import time

import numpy as np
import scipy.sparse as sp
from report import table
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.preprocessing import StandardScaler

from best_subset import data as sets
from best_subset.objective import columns_of, ours, timed
from best_subset.peers import by_abess, by_chi2, by_f, by_information, by_l1, by_lasso, by_rfe
from rarefy.core.linalg.rows import DenseRows
from rarefy.core.losses.margins import MarginLoss
from rarefy.core.svm.linear_model import linear_model
from rarefy.selection import BestSubsetSelector

GRID = (1e-2, 0.1, 1.0, 10.0, 100.0)
"""Values of C of the models that are trained in the chosen columns."""
FACTORS = (0.01, 0.1, 1.0, 10.0)
"""Values of C of a selection: for ours times what `C=None` takes, for RFE as they are."""
COUNTS = (50, 100, 200)
FOLDS = 3
SPLITS = 2
"""Random splits into training and test samples."""


def by_us(X, y, r, C):
    return columns_of(ours(X, y, r, C)[0])


def by_us_scaled(X, y, r, factor):
    """Of columns divided by their standard deviations, the default; C is a multiple of that of the rule `C=None`."""
    highest, lowest = ((one.toarray().ravel() if sp.issparse(one) else one) for one in (X.max(axis=0), X.min(axis=0)))
    varying = np.count_nonzero(highest > lowest)  # the rule: one over their number, which is the mean squared distance
    return columns_of(BestSubsetSelector(r, C=factor / varying).fit(X, y))


FILTERS = {"chi2": by_chi2, "F": by_f, "information": by_information, "l1 SVM": by_l1}
WITH_C = {"ours": by_us_scaled, "RFE": by_rfe}
"""These choose other columns for every C."""


def columns_dense(X, columns):
    X = X[:, columns]
    return X.toarray() if sp.issparse(X) else X


def errors(train, test, columns):
    """Test errors of linear SVMs (squared hinge, free intercept) in these columns, one for each C of the grid."""
    (X, y), (Z, t) = train, test
    F, Z, out = DenseRows(columns_dense(X, columns)), columns_dense(Z, columns), []
    for C in GRID:
        model = linear_model(F, y.astype(float), np.full(len(y), C), MarginLoss("squared_hinge"))
        out.append(np.mean(np.where(Z @ model.coef + model.intercept > 0, 1, -1) != t))
    return np.array(out)


def chosen(name, X, y, r):
    """Columns for each C of the selection; filters have one choice."""
    if name in WITH_C:
        return [WITH_C[name](X, y, r, factor) for factor in FACTORS]
    return [FILTERS[name](X, y, r, 1.0)]


def nested(name, train, test, r, seed):
    """Test error in percent with C of selection and model by inner folds; with that of the rule; seconds."""
    X, y = train
    start = time.process_time()
    inner = []
    for a, b in StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(np.zeros(len(y)), y):
        inner.append([errors((X[a], y[a]), (X[b], y[b]), columns) for columns in chosen(name, X[a], y[a], r)])
    inner = np.mean(inner, axis=0)
    outer = np.array([errors(train, test, columns) for columns in chosen(name, X, y, r)])
    best = np.unravel_index(int(np.argmin(inner)), inner.shape)
    rule = FACTORS.index(1.0) if name in WITH_C else 0
    return {
        "error": float(100 * outer[best]), "with factor 1": float(100 * outer[rule, np.argmin(inner[rule])]),
        "factor": FACTORS[best[0]] if name in WITH_C else None, "C": GRID[best[1]],
        "best in hindsight": float(100 * outer.min()), "seconds": time.process_time() - start,
    }  # fmt: skip


def splits(quick):
    """Name and function of a seed that returns training and test samples."""

    def documents(name, pair, n):
        X, y = sets.documents(name, pair)

        def split(seed):
            rows = sets.sample(X, y, n, seed)
            rest = np.setdiff1d(np.arange(len(y)), rows)
            words = sets.used(X[rows])
            return (X[rows][:, words], y[rows]), (X[rest][:, words], y[rest])

        return split

    def spectra(seed):
        one = sets.dense("wide", "arcene")
        a, b = train_test_split(np.arange(len(one.y)), test_size=0.3, stratify=one.y, random_state=seed)
        scaler = StandardScaler().fit(one.X[a])
        return (scaler.transform(one.X[a]), one.y[a]), (scaler.transform(one.X[b]), one.y[b])

    n = 100 if quick else 400
    out = {f"newsgroups {a}, {b}": documents("20news_nohdr", (a, b), n) for a, b in sets.PAIRS[: 1 if quick else 3]}
    if not quick:
        out |= {"movie reviews": documents("movie_review_polarity", None, n), "arcene": spectra}
    return out


def error_table(quick):
    """(d)."""
    names = [*WITH_C, *FILTERS]
    heads = [("data", 18), ("r", 4), ("ours, C=None", 12)] + [(name, 11) for name in names]
    heads += [(f"s of {name}", 9) for name in WITH_C] + [("factors of ours", 16)]
    line = table("(d) test error in percent, mean over splits; C by three inner folds", heads)
    for title, split in splits(quick).items():
        for r in (10,) if quick else COUNTS:
            row = {"data": title, "r": r, "methods": {name: [] for name in names}}
            for seed in range(1 if quick else SPLITS):
                train, test = split(seed)
                for name in names:
                    row["methods"][name].append(timed(nested, name, train, test, r, seed)[0])
            mean = {n: np.mean([one["error"] for one in row["methods"][n]]) for n in names}
            rule = np.mean([one["with factor 1"] for one in row["methods"]["ours"]])
            took = [np.mean([one["seconds"] for one in row["methods"][n]]) for n in WITH_C]
            factors = " ".join(f"{one['factor']:g}" for one in row["methods"]["ours"])
            line(title, r, *(f"{e:.1f}" for e in (rule, *mean.values())), *(f"{t:.1f}" for t in took), factors)
            yield row


def stability_table(quick):
    """(e): mean Jaccard index of the columns chosen from two random parts of four fifths of the samples."""
    chooser = {f"ours, C={C:g}": (by_us, C) for C in (0.01, 0.1, 1.0)} | {"RFE, C=0.1": (by_rfe, 0.1)}
    chooser |= {name: (function, 1.0) for name, function in FILTERS.items()} | {"Lasso": (by_lasso, 1.0)}
    data = [(sets.dense("wide", "colon_alon"), 30)]
    if not quick:
        data += [(sets.dense("wide", "leukemia_golub"), 30), (sets.newsgroups()[0], 100), (sets.movies(), 100)]
    heads = [("data", 26), ("r", 4)] + [(name, 6) for name in chooser]
    line = table("(e) mean Jaccard index over resamples", heads)
    for one, r in data:
        row = {"data": one.title, "r": r, "jaccard": {}}
        for name, (function, C) in chooser.items():
            found = []
            for seed in range(3 if quick else 6):
                a, _ = train_test_split(np.arange(len(one.y)), test_size=0.2, stratify=one.y, random_state=seed)
                found.append(set(timed(function, one.X[a], one.y[a], r, C)[0].tolist()))
            pairs = [len(a & b) / len(a | b) for i, a in enumerate(found) for b in found[:i]]
            row["jaccard"][name] = float(np.mean(pairs))
        line(one.title, r, *(f"{value:.2f}" for value in row["jaccard"].values()))
        yield row


def recovery_table(quick):
    """(f): the share of ten true columns among ten chosen ones of a thousand, mean over generated sets."""

    def squared(C):
        return lambda X, y, k: columns_of(ours(X, y, k, C, "squared", task="regression")[0])

    methods = {f"ours, C={C:g}": squared(C) for C in (0.01, 0.1, 1.0)}
    methods["abess"] = lambda X, y, k: by_abess(X, y, k, 0.0)
    methods["Lasso"] = lambda X, y, k: by_lasso(X, y, k, 1.0)
    heads = [("n", 4), ("rho", 4), ("snr", 4)] + [(name, 12) for name in methods]
    line = table("(f) share of the true columns found, and seconds", heads)
    for n in (100,) if quick else (100, 200):
        for rho in (0.0, 0.5, 0.9):
            for snr in (3.0,) if quick else (1.0, 5.0):
                row = {"n": n, "rho": rho, "snr": snr, "found": {}, "seconds": {}}
                for name, method in methods.items():
                    shares, took = [], []
                    for seed in range(2 if quick else 10):
                        one, true = sets.regression(n, 1000, 10, rho, snr, seed)
                        columns, seconds = timed(method, one.X, one.y, 10)
                        shares.append(len(np.intersect1d(columns, true)) / 10)
                        took.append(seconds)
                    row["found"][name], row["seconds"][name] = float(np.mean(shares)), float(np.mean(took))
                pairs = zip(row["found"].values(), row["seconds"].values(), strict=True)
                line(n, rho, snr, *(f"{f:.2f} {s:.2f} s" for f, s in pairs))
                yield row
