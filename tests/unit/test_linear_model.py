import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import check_grad, minimize
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.svm import SVC

from rarefy.core.linalg.rows import as_rows
from rarefy.core.losses.margins import LOSSES, MarginLoss, best_intercept
from rarefy.core.svm import linear_model as module
from rarefy.core.svm.linear_model import linear_model
from rarefy.core.svm.linear_models import linear_models, trained_together

SMOOTH = [MarginLoss("squared_hinge"), MarginLoss("logistic"), MarginLoss("squared"), MarginLoss("hinge", 0.1)]


def problem(n, d, seed=0, shift=0.5):
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 3 == 0, 1.0, -1.0)
    X = rng.standard_normal((n, d)) + shift * y[:, None] * (np.arange(d) < 2)
    return X, y


def plain_objective(X, y, C, loss, w, b):
    return 0.5 * w @ w + C * loss.values(y, X @ w + b).sum()


@pytest.mark.parametrize("loss", [*SMOOTH, MarginLoss("hinge")], ids=repr)
def test_derivatives_are_those_of_the_values(loss):
    rng = np.random.default_rng(0)
    y, f = np.where(rng.random(50) < 0.5, 1.0, -1.0), rng.uniform(-3, 3, 50)
    first, second = loss.derivatives(y, f)
    step = 1e-6
    np.testing.assert_allclose(
        first, (loss.values(y, f + step) - loss.values(y, f - step)) / (2 * step), rtol=1e-5, atol=1e-6
    )
    above, below = loss.derivatives(y, f + step)[0], loss.derivatives(y, f - step)[0]
    np.testing.assert_allclose(second, (above - below) / (2 * step), rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("name", LOSSES)
def test_gains_are_conjugates(name):
    """c l(y, f) >= gain(beta) - beta f for every f, with equality for some f."""
    loss, rng = MarginLoss(name), np.random.default_rng(1)
    grid = np.linspace(-30, 30, 200_001)
    for _ in range(20):
        c, y = np.array([rng.uniform(0.1, 5)]), np.array([rng.choice([-1.0, 1.0])])
        beta = y * rng.uniform(0.0, 1.0) * c
        gain = loss.gains(y, beta, c)[0]
        slack = c[0] * loss.values(np.full(len(grid), y[0]), grid) + beta[0] * grid - gain
        assert slack.min() >= -1e-9
        assert slack.min() <= 1e-3
    assert loss.gains(np.ones(1), np.zeros(1), np.ones(1))[0] == 0.0


@pytest.mark.parametrize("loss", [*SMOOTH, MarginLoss("hinge")], ids=repr)
def test_the_best_intercept_is_best(loss):
    rng = np.random.default_rng(2)
    for _ in range(20):
        y, scores, c = np.where(rng.random(9) < 0.4, 1.0, -1.0), rng.standard_normal(9), rng.uniform(0.1, 2, 9)
        y[:2] = 1.0, -1.0

        def total(b, y=y, scores=scores, c=c):
            return c @ loss.values(y, scores + b)

        grid = np.linspace(-8, 8, 4001)
        assert total(best_intercept(loss, y, scores, c)) <= min(total(b) for b in grid) + 1e-9


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("shape", [(30, 4), (12, 60), (20, 20)])
@pytest.mark.parametrize("C", [1e-3, 1.0, 100.0])
def test_the_gap_is_small_and_the_optimum_is_that_of_other_solvers(name, shape, C):
    X, y = problem(*shape)
    found = linear_model(as_rows(X), y, np.full(len(y), C), MarginLoss(name))
    assert -1e-9 <= found.gap <= (1e-5 if name != "hinge" else 3e-4)
    assert found.primal == pytest.approx(plain_objective(X, y, C, MarginLoss(name), found.coef, found.intercept))
    assert abs(found.beta.sum()) <= 1e-9 * np.abs(found.beta).sum()
    assert found.primal <= other_optimum(X, y, C, name) * (1 + 1e-3) + 1e-9
    assert found.dual <= other_optimum(X, y, C, name) * (1 + 1e-9)


def other_optimum(X, y, C, name):
    """Objective that scikit-learn, or a general minimiser, reaches."""
    loss = MarginLoss(name)
    if name == "hinge":
        model = SVC(kernel="linear", C=C, tol=1e-6).fit(X, y)
        return plain_objective(X, y, C, loss, model.coef_.ravel(), model.intercept_[0])
    if name == "squared":
        model = Ridge(alpha=1 / (2 * C), solver="svd").fit(X, y)
        return plain_objective(X, y, C, loss, model.coef_, model.intercept_)
    if name == "logistic":
        model = LogisticRegression(C=C, tol=1e-10, max_iter=10_000).fit(X, y)
        return plain_objective(X, y, C, loss, model.coef_.ravel(), model.intercept_[0])
    start = np.zeros(X.shape[1] + 1)
    found = minimize(
        lambda v: plain_objective(X, y, C, loss, v[:-1], v[-1]),
        start,
        jac=lambda v: np.append(
            v[:-1] + C * X.T @ loss.derivatives(y, X @ v[:-1] + v[-1])[0],
            C * loss.derivatives(y, X @ v[:-1] + v[-1])[0].sum(),
        ),
        method="L-BFGS-B",
        options={"maxiter": 20_000, "ftol": 1e-15, "gtol": 1e-12},
    )
    return found.fun


def test_the_gradient_of_the_oracle_is_right():
    X, y = problem(10, 3)
    loss = MarginLoss("squared_hinge")
    error = check_grad(
        lambda v: plain_objective(X, y, 1.0, loss, v[:-1], v[-1]),
        lambda v: np.append(
            v[:-1] + X.T @ loss.derivatives(y, X @ v[:-1] + v[-1])[0],
            loss.derivatives(y, X @ v[:-1] + v[-1])[0].sum(),
        ),
        np.full(4, 0.1),
    )
    assert error < 1e-4


@pytest.mark.parametrize("name", LOSSES)
def test_costs_of_rows_are_repeated_rows(name):
    X, y = problem(15, 4)
    costs = np.where(np.arange(15) < 5, 2.0, 1.0)
    weighted = linear_model(as_rows(X), y, costs, MarginLoss(name))
    again = linear_model(as_rows(np.vstack([X, X[:5]])), np.concatenate([y, y[:5]]), np.ones(20), MarginLoss(name))
    assert weighted.primal == pytest.approx(again.primal, rel=1e-3)


@pytest.mark.parametrize("name", LOSSES)
def test_sparse_and_dense_agree_and_conjugate_gradients_do_too(name, monkeypatch):
    X, y = problem(40, 90)
    X *= np.random.default_rng(0).random(X.shape) < 0.3
    dense = linear_model(as_rows(X), y, np.ones(40), MarginLoss(name))
    sparse = linear_model(as_rows(sp.csr_array(X)), y, np.ones(40), MarginLoss(name))
    assert sparse.primal == pytest.approx(dense.primal, rel=1e-9)
    monkeypatch.setattr(module, "_DIRECT", 3)
    iterated = linear_model(as_rows(X), y, np.ones(40), MarginLoss(name))
    assert iterated.primal == pytest.approx(dense.primal, rel=2e-3)


@pytest.mark.parametrize("name", LOSSES)
def test_degenerate_data(name):
    y = np.array([1.0, -1.0, 1.0, -1.0])
    nothing = linear_model(as_rows(np.zeros((4, 3))), y, np.ones(4), MarginLoss(name))
    assert not nothing.coef.any()
    assert nothing.gap <= 1e-5
    same = linear_model(as_rows(np.ones((4, 2))), y, np.ones(4), MarginLoss(name))
    assert same.primal == pytest.approx(nothing.primal, rel=1e-4)
    separated = linear_model(as_rows(1e3 * y[:, None]), y, np.full(4, 1e3), MarginLoss(name))
    assert separated.gap <= 1e-2
    assert np.all(np.sign(separated.coef[0] * 1e3 * y + separated.intercept) == y)


@pytest.mark.parametrize("name", ["squared_hinge", "logistic", "squared"])
@pytest.mark.parametrize("scale", [1.0, 1e4])
def test_models_trained_together_are_those_trained_alone(name, scale):
    rng = np.random.default_rng(0)
    F = scale * rng.standard_normal((60, 5))
    Y = rng.standard_normal((60, 7)) + F @ rng.standard_normal((5, 7)) / scale
    if name != "squared":
        Y = np.where(np.quantile(Y, [0.05, 0.2, 0.4, 0.5, 0.6, 0.8, 0.98], axis=0).diagonal() < Y, 1.0, -1.0)
    costs, loss = rng.uniform(0.1, 2.0, 60), MarginLoss(name)
    assert trained_together(60, 5, 7, loss)
    start = None
    for _ in range(2):  # from nothing, and from a point that is close
        found = linear_models(F, Y, costs, loss, start=start, tol=1e-8)
        for k, model in enumerate(found):
            same = None if start is None else (start[0][:, k], float(start[1][k]))
            alone = linear_model(as_rows(F), Y[:, k], costs, loss, start=same, tol=1e-8)
            assert model.gap <= max(1e-8, 1.01 * alone.gap)  # scores of 1e8 leave fewer digits
            assert model.primal == pytest.approx(alone.primal, rel=1e-8)
            np.testing.assert_allclose(model.coef, alone.coef, atol=1e-3 * np.abs(alone.coef).max())
        beta = np.column_stack([model.beta for model in found]) * rng.uniform(0.9, 1.0, 7)
        start = beta, np.array([model.intercept for model in found])


def test_few_large_and_hinge_models_are_trained_alone():
    squared = MarginLoss("squared_hinge")
    assert not trained_together(60, 5, 3, squared)
    assert not trained_together(10**6, 5, 4, squared)
    assert not trained_together(60, 5, 7, MarginLoss("hinge"))
