"""A `fit` that fails leaves the estimator as it was: unfitted, or with its previous fit untouched.

Every public estimator is made to fail: by each of its parameters, by its data, by a solver that gives up, and by an
interruption at many places.
"""

import gc
import inspect
import sys
from copy import deepcopy
from functools import cache

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

import rarefy
from rarefy.exceptions import ParameterError
from rarefy.kernel import (
    KernelFeatureRegressor,
    KernelFeatureSelector,
    KernelFeatureSelectorCV,
    KernelSubspace,
    SubspaceLPSVC,
    SubspaceLPSVCCV,
)
from rarefy.ranking import OrdinalRankRC, OrdinalRankRCCV, RankRC, RankRCCV
from rarefy.selection import (
    BestSubsetSelector,
    BSSSelector,
    InformationGainSelector,
    LeverageScoreSelector,
    LPSVMSelector,
    RandomSelector,
    ReliefSelector,
    RRQRSelector,
    SupportVectorSelector,
)

pytestmark = pytest.mark.filterwarnings("ignore::rarefy.exceptions.RarefyWarning")

ESTIMATORS = [
    BSSSelector(12),
    BestSubsetSelector(3, max_iter=2, max_nodes=0),
    LeverageScoreSelector(12, sampling="top"),
    SupportVectorSelector(BSSSelector(12)),
    RRQRSelector(4),
    RandomSelector(4, random_state=0),
    InformationGainSelector(4),
    ReliefSelector(4),
    LPSVMSelector(),
    KernelSubspace(5, random_state=0),
    SubspaceLPSVC(n_components=5, random_state=0),
    SubspaceLPSVCCV(SubspaceLPSVC(n_components=5, random_state=0), alphas=[0.3], gammas=[0.5], cv=3),
    KernelFeatureRegressor(max_iter=3, tol=0.1),
    KernelFeatureSelector(max_iter=3, tol=0.1),
    KernelFeatureSelectorCV(KernelFeatureSelector(max_iter=3, tol=0.1), Cs=[1.0], mus=[0.1], inits=("ones",), cv=2),
    RankRC(),
    RankRCCV(alphas=[0.01], cv=2),
    OrdinalRankRCCV(alphas=[0.01], cv=2),
    OrdinalRankRC(),
]
# Five of them describe the kernel, as in scikit-learn's Nystroem.
MANY_PARAMETERS = {"RankRC": 18, "SubspaceLPSVC": 18, "KernelFeatureSelector": 21}
everyone = pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)


def data(seed=0):
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1], [18, 8])
    return rng.standard_normal((26, 14)) + y[:, None], y


def public_estimators():
    modules = (rarefy.selection, rarefy.kernel, rarefy.ranking)
    things = {getattr(module, name) for module in modules for name in module.__all__}
    return {thing for thing in things if inspect.isclass(thing) and issubclass(thing, BaseEstimator)}


@cache
def fitted_once(estimator):
    return clone(estimator).fit(*data())


def check_fails(estimator, error, change, *, fit=None, undo=lambda: None):
    """`change` makes the next fit fail: of a new estimator, and of a fitted one."""
    fit = fit or (lambda e: e.fit(*data(1)))
    new, fitted = clone(estimator), deepcopy(fitted_once(estimator))
    for one in (new, fitted):
        change(one)
        before = dict(vars(one))
        with pytest.raises(error):
            fit(one)
        undo()
        assert list(vars(one)) == list(before)
        assert all(value is before[name] for name, value in vars(one).items())
    for one in (new, fitted):
        one.set_params(**estimator.get_params(deep=False))  # tags depend on parameters
    with pytest.raises(NotFittedError):
        check_is_fitted(new)
    check_is_fitted(fitted)


def test_every_public_estimator_is_listed_here():
    assert public_estimators() == {type(e) for e in ESTIMATORS}


@everyone
def test_few_parameters_and_a_constraint_on_each(estimator):
    names = set(inspect.signature(type(estimator).__init__).parameters) - {"self"}
    assert set(estimator._parameter_constraints) == names
    assert len(names) <= MANY_PARAMETERS.get(type(estimator).__name__, 16)
    assert "verbose" not in names


@everyone
def test_a_bad_parameter(estimator):
    for name in inspect.signature(type(estimator).__init__).parameters:
        if name != "self":
            bad = object()
            with pytest.raises(ParameterError, match=f"'{name}' parameter of {type(estimator).__name__}"):
                clone(estimator).set_params(**{name: bad}).fit(*data())
            check_fails(estimator, ParameterError, lambda e, name=name, bad=bad: setattr(e, name, bad))


@everyone
def test_bad_data(estimator):
    X, y = data(1)
    holed = X.copy()
    holed[3, 2] = np.nan
    check_fails(estimator, ValueError, lambda e: None, fit=lambda e: e.fit(holed, y))
    if not isinstance(estimator, (BSSSelector, LeverageScoreSelector, RRQRSelector, RandomSelector, KernelSubspace)):
        check_fails(estimator, ValueError, lambda e: None, fit=lambda e: e.fit(X, y[:-1]))
    if not isinstance(estimator, (RandomSelector, InformationGainSelector)) and not type(estimator).__name__.startswith(
        ("BSS", "Leverage", "RRQR", "KernelSubspace", "KernelFeatureRegressor")
    ):
        check_fails(estimator, ValueError, lambda e: None, fit=lambda e: e.fit(X, np.zeros(len(y))))


@pytest.mark.parametrize("estimator", [LPSVMSelector(), RankRC(), RankRCCV(alphas=[0.01])], ids=lambda e: str(e))
def test_three_classes_where_two_are_needed(estimator):
    X, _ = data(1)
    check_fails(estimator, ValueError, lambda e: None, fit=lambda e: e.fit(X, np.arange(26) % 3))


def test_a_basis_that_is_not_there():
    check_fails(RankRC(), ParameterError, lambda e: e.set_params(basis=[999]))


@cache
def calls_in_fit(estimator):
    """How many functions of rarefy are called by a fit that is not the first."""
    model = clone(estimator).fit(*data(1))
    count = 0

    def profile(frame, event, arg):
        nonlocal count
        count += event == "call" and str(frame.f_globals.get("__name__")).startswith("rarefy")

    sys.setprofile(profile)
    try:
        model.fit(*data(1))
    finally:
        sys.setprofile(None)
    return count


def stop_at(k, error):
    """Raise an error in the k-th call of a function of rarefy from now on."""
    count = 0

    def profile(frame, event, arg):
        nonlocal count
        count += event == "call" and str(frame.f_globals.get("__name__")).startswith("rarefy")
        if count == k:
            sys.setprofile(None)
            raise error

    sys.setprofile(profile)


@pytest.fixture
def no_collection():
    """Closing a generator that an interrupted fit left behind counts as a call: not while calls are counted."""
    gc.disable()
    yield
    gc.enable()


@everyone
@pytest.mark.usefixtures("no_collection")
@pytest.mark.parametrize(
    ("share", "error"),
    [(0.2, KeyboardInterrupt), (0.5, RuntimeError), (0.8, KeyboardInterrupt), (1.0, KeyboardInterrupt)],
)
def test_an_interruption_or_a_failing_solver(estimator, share, error):
    k = max(2, int(share * calls_in_fit(estimator)))
    check_fails(
        estimator,
        error,
        lambda e: None,
        fit=lambda e: (stop_at(k, error()), e.fit(*data(1))),
        undo=lambda: sys.setprofile(None),
    )
