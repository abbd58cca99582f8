"""The wrapper of every `fit`, and where warnings point."""

import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.pipeline import make_pipeline
from sklearn.utils.validation import check_is_fitted, validate_data

from rarefy._fit import checked_arguments, fit_method
from rarefy._parameters import COUNT, SHARE
from rarefy._warnings import warn_user
from rarefy.exceptions import ParameterError, RarefyWarning


class Estimator(TransformerMixin, BaseEstimator):
    _parameter_constraints = {"k": [COUNT]}

    def __init__(self, k=1, fail=None, extra=False):
        self.k, self.fail, self.extra = k, fail, extra

    @fit_method
    def fit(self, X, y=None):
        X = validate_data(self, X)
        if self.fail is not None:
            raise self.fail
        warn_user("look here", RarefyWarning)
        self.mean_ = X.mean(axis=0)
        if self.extra:
            self.extra_ = 1
        return self

    def transform(self, X):
        return X


X = np.arange(6.0).reshape(3, 2)
quiet = pytest.mark.filterwarnings("ignore::rarefy.exceptions.RarefyWarning")


@quiet
@pytest.mark.parametrize("error", [ValueError("no"), KeyboardInterrupt()])
def test_a_failed_fit_leaves_the_estimator_unfitted_or_as_it_was(error):
    new = Estimator(fail=error)
    with pytest.raises(type(error)):
        new.fit(X)
    assert set(vars(new)) == {"k", "fail", "extra"}
    fitted = Estimator().fit(X)
    before = dict(vars(fitted.set_params(fail=error)))
    with pytest.raises(type(error)):
        fitted.fit(X[:, :1] + 5)
    assert vars(fitted) == before
    check_is_fitted(fitted)


def test_an_interrupt_inside_of_numpy_leaves_its_handling_of_errors_as_it_was():
    class Inside(Estimator):
        @fit_method
        def fit(self, X, y=None):
            np.seterrcall(print)  # what numpy.linalg does before it calls LAPACK, and takes back afterwards
            np.seterr(all="ignore", invalid="call")
            raise KeyboardInterrupt

    before = np.geterr(), np.geterrcall()
    with pytest.raises(KeyboardInterrupt):
        Inside().fit(X)
    assert (np.geterr(), np.geterrcall()) == before


@quiet
def test_nothing_of_an_earlier_fit_is_left_beside_the_new_one():
    estimator = Estimator(extra=True).fit(X)
    assert estimator.extra_ == 1
    assert not hasattr(estimator.set_params(extra=False).fit(X), "extra_")


@pytest.mark.parametrize("k", [0, 1.5, True, np.True_, None, "1"])
def test_parameters_are_checked_before_any_work(k):
    estimator = Estimator(k=k, fail=AssertionError("was not checked"))
    with pytest.raises(ParameterError, match=r"The 'k' parameter of Estimator must be an int in the range \[1, inf\)"):
        estimator.fit(X)
    assert not hasattr(estimator, "n_features_in_")


def test_arguments_of_functions_are_checked_in_the_same_way():
    @checked_arguments({"share": [SHARE]})
    def keep(share):
        return share

    assert keep(0.5) == 0.5
    with pytest.raises(ParameterError, match=r"The 'share' parameter of .*keep must be a float in the range"):
        keep(share=1)


@pytest.mark.parametrize(
    "call",
    [
        lambda: Estimator().fit(X),
        lambda: Estimator().fit_transform(X),
        lambda: make_pipeline(Estimator()).fit(X),
        lambda: make_pipeline(Estimator(), "passthrough").fit_transform(X),
    ],
    ids=["fit", "fit_transform", "pipeline", "pipeline fit_transform"],
)
def test_warnings_point_at_the_line_of_the_user(call):
    # This module's own frames are the user's; `Estimator.fit` stands for library code and is renamed to look like it.
    code = compile("def call(f):\n    return f()\n", "user.py", "exec")
    namespace = {"__name__": "user"}
    exec(code, namespace)
    original, globals_ = __name__, globals()
    globals_["__name__"] = "rarefy.example"
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            namespace["call"](call)
    finally:
        globals_["__name__"] = original
    assert [(w.filename, w.lineno) for w in caught] == [("user.py", 2)]
