"""The choice of parameters in the reproduction of the thesis: recomputed from single fits."""

import numpy as np
from sklearn.model_selection import StratifiedKFold

from feature_problems import crossed, plain_selector
from rarefy.papers.feature_selection.search import cross_validated


def test_the_best_in_the_folds_is_fitted_along_its_path():
    X, y = crossed(n=40)
    y[:6] = 1 - y[:6]
    folds, mus = StratifiedKFold(2), [1.0, 0.1]
    selectors = [plain_selector(tol=1e-2, init=init) for init in ("ones", "scaled")]
    found = cross_validated(selectors, X, y, Cs=[1.0], mus=mus, folds=folds)
    merits = {}
    for selector in selectors:
        for C in (1.0,):
            own = plain_selector(C, tol=1e-2, init=selector.init)
            for j, mu in enumerate(sorted(mus)):
                scores, sizes = [], []
                for train, test in folds.split(X, y):
                    model = own.mu_path(X[train], y[train], sorted(mus)[: j + 1]).models[-1]
                    scores.append(model.score(X[test], y[test]))
                    sizes.append(model.support_.sum())
                merits[selector.init, C, mu] = (round(np.mean(scores), 12), -np.mean(sizes))
    assert merits[found.init, found.C, found.mu] == max(merits.values())
    upto = [mu for mu in sorted(mus) if mu <= found.mu]
    again = plain_selector(found.C, tol=1e-2, init=found.init).mu_path(X, y, upto).models[-1]
    np.testing.assert_array_equal(found.feature_weights_, again.feature_weights_)
