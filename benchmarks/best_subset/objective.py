"""Tables (a) to (c): objectives of columns beside the bound that no columns can beat."""

import time
import warnings

import numpy as np
from report import table

from best_subset import data as sets
from best_subset.peers import CHOOSERS, USES_C, by_abess, by_skscope
from rarefy.core.linalg.rows import as_rows
from rarefy.core.losses.margins import MarginLoss
from rarefy.core.svm.linear_model import linear_model
from rarefy.selection import BestSubsetSelector

EXACT = 1e-7
"""Gap to which the objective of given columns is computed."""


def timed(call, *arguments, **options):
    """What a call returns, and its seconds of processor time."""
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = call(*arguments, **options)
    return found, time.process_time() - start


def objective(X, y, columns, C, loss):
    """1/2 ||w||^2 + C times the losses, minimised over the models with these columns."""
    kept = as_rows(X[:, np.asarray(columns)])
    kept = as_rows(kept.take(np.arange(kept.shape[0])))
    return linear_model(kept, np.asarray(y, dtype=float), np.full(len(y), float(C)), MarginLoss(loss), tol=EXACT).primal


def empty_objective(y, C, loss):
    """What the best constant reaches."""
    return objective(np.zeros((len(y), 1)), y, [0], C, loss)


def ours(X, y, r, C, loss="auto", **options):
    """The fitted selector and its seconds."""
    selector = BestSubsetSelector(r, C=C, loss=loss, standardize=False, **options)
    return timed(selector.fit, X, y)


def columns_of(selector):
    return np.flatnonzero(selector.support_)


def choices(data, r, C, known):
    """Columns and seconds by the name of who chose them; what does not depend on C is computed once."""
    out = {}
    for name, chooser in CHOOSERS.items():
        key = (data.name, r, name, C if name in USES_C else None)
        if key not in known:
            try:
                known[key] = timed(chooser, data.X, data.y, r, C)
            except ValueError as error:
                known[key] = None, str(error)
        out[name] = known[key]
    return out


def objective_row(data, r, C, known):
    """All of one line of table (a)."""
    selector, seconds = ours(data.X, data.y, r, C)
    certificate, settled = selector.certificate_, selector.certificate_.settled
    row = {
        "data": data.title, "r": r, "C": C, "objective": certificate.objective, "bound": certificate.lower_bound,
        "share": certificate.optimality, "seconds": seconds, "in every best set": int(np.sum(settled == 1)),
        "in none": int(np.sum(settled == -1)), "peers": {},
    }  # fmt: skip
    row["no column"] = empty_objective(data.y, C, "squared_hinge")
    room = row["no column"] - certificate.lower_bound
    row["share of gain"] = (row["no column"] - certificate.objective) / room
    for name, (columns, took) in choices(data, r, C, known).items():
        if columns is None:
            row["peers"][name] = None
            continue
        value = objective(data.X, data.y, columns, C, "squared_hinge")
        share = max(0.0, certificate.lower_bound / value)
        row["peers"][name] = {
            "objective": value, "share": share, "share of gain": (row["no column"] - value) / room, "seconds": took,
            "columns": len(columns),
        }  # fmt: skip
    return row


def objective_table(quick):
    """(a): the share of the best possible choice that is proved, for the columns of everyone."""
    if quick:
        data, counts = [sets.dense("wide", "colon_alon"), sets.newsgroups(100)[0]], (10, 30)
    else:
        data = [sets.dense("wide", name) for name in ("colon_alon", "leukemia_golub")]
        data += [*sets.newsgroups(), sets.movies()]
        data += [sets.dense("uci", name) for name in ("sonar", "ionosphere", "wdbc", "madelon")]
        counts = (10, 30, 100, 200)
    heads = [("data", 26), ("r", 4), ("C", 4), ("objective", 9), ("s", 6), ("none", 6), ("ours", 6)]
    line = table(
        "(a) proved share of the best r columns (squared hinge); none: a constant", heads + [(n, 7) for n in CHOOSERS]
    )
    known = {}
    for one in data:
        for r in (r for r in counts if r < one.shape[1]):
            for C in (0.1, 1.0):
                row = objective_row(one, r, C, known)
                shares = (p and f"{p['share']:.3f}" for p in row["peers"].values())
                share = row["share"] or 0.0
                without = max(0.0, row["bound"] / row["no column"])
                cells = (f"{row['objective']:.4g}", f"{row['seconds']:.2f}", f"{without:.3f}", f"{share:.3f}")
                line(one.title, r, C, *cells, *(s or "-" for s in shares))
                yield row


ALPHAS = (0.0, 1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0, 1000.0)


def splicing_problems(quick):
    """Data, r, C and loss of the problems of table (b)."""
    if quick:
        problems = [(sets.dense("uci", "sonar"), 10, "squared"), (sets.dense("uci", "sonar"), 10, "logistic")]
        return [(one, r, 1.0 / (2.0 * len(one.y)), loss) for one, r, loss in problems]
    genes = [sets.dense("wide", name) for name in ("colon_alon", "leukemia_golub", "arcene")]
    small = [sets.dense("uci", name) for name in ("sonar", "ionosphere", "wdbc", "madelon")]
    made = [sets.regression(200, 1000, 10, rho, 3.0, 0)[0] for rho in (0.0, 0.5, 0.9)]
    out = [(one, 30, alpha * len(one.y), "squared") for one in genes for alpha in (1.0, 0.1)]
    out += [(one, 10, alpha * len(one.y), "squared") for one in genes[:2] for alpha in (1.0,)]
    out += [(one, 10, alpha * len(one.y), "squared") for one in made for alpha in (0.1, 0.001)]
    out += [(one, 10, 0.1 * len(one.y), "squared") for one in small]
    problems = [(one, r, 1.0 / (2.0 * alpha), loss) for one, r, alpha, loss in out]
    return problems + [(one, 10, 0.1, "logistic") for one in (genes[0], small[0], small[2])]


def splicing_row(data, r, C, loss):
    """Ours, the best of abess over its penalties, and skscope on the same objective."""
    task = "regression" if loss == "squared" else "classification"
    selector, seconds = ours(data.X, data.y.astype(float) if loss == "squared" else data.y, r, C, loss, task=task)
    certificate = selector.certificate_
    row = {
        "data": data.title, "r": r, "C": C, "loss": loss, "objective": certificate.objective,
        "share": certificate.optimality, "seconds": seconds, "abess": {}, "skscope": None,
    }  # fmt: skip
    for alpha in ALPHAS:
        columns, took = timed(by_abess, data.X, data.y, r, alpha, loss == "logistic")
        value = objective(data.X, data.y, columns, C, loss) if 0 < len(columns) <= r else None
        row["abess"][str(alpha)] = {"objective": value, "seconds": took, "columns": len(columns)}
    columns, took = timed(by_skscope, data.X, data.y, r, C, loss == "logistic")
    row["skscope"] = {"objective": objective(data.X, data.y, columns, C, loss), "seconds": took}
    return row


def splicing_table(quick):
    """(b): abess asked for the same number of columns with each of its l2 penalties, and skscope."""
    heads = [("data", 26), ("r", 4), ("C", 8), ("loss", 8), ("objective", 9), ("share", 6), ("s", 6)]
    heads += [("best abess / ours", 9), ("s of grid", 8), ("skscope / ours", 8), ("s", 6)]
    line = table("(b) objectives beside abess (best of its grid) and skscope", heads)
    for one, r, C, loss in splicing_problems(quick):
        row = splicing_row(one, r, C, loss)
        values = [v["objective"] for v in row["abess"].values() if v["objective"] is not None]
        row["abess / ours"] = min(values, default=np.nan) / row["objective"]
        row["skscope / ours"] = row["skscope"]["objective"] / row["objective"]
        took = sum(v["seconds"] for v in row["abess"].values())
        line(one.title, r, f"{C:.2g}", loss, f"{row['objective']:.4g}", f"{row['share'] or 0:.3f}",
             f"{row['seconds']:.2f}", f"{row['abess / ours']:.4f}", f"{took:.2f}", f"{row['skscope / ours']:.4f}",
             f"{row['skscope']['seconds']:.2f}")  # fmt: skip
        yield row
