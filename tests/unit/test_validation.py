"""What scikit-learn's checks let through and the library refuses, for all estimators and functions alike."""

import ast
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone

import rarefy
from rarefy._fit import numerical
from rarefy._validation import check_array, check_labels, check_weights
from rarefy.exceptions import DegenerateDataError, MemoryBudgetError, ParameterError
from rarefy.kernel import KernelFeatureSelector, KernelSubspace, SubspaceLPSVC, spline_kernel
from rarefy.metrics import mauc_score
from rarefy.ranking import OrdinalRankRC, RankRC
from rarefy.selection import BestSubsetSelector, BSSSelector, LPSVMSelector, RandomSelector, SupportVectorSelector

pytestmark = pytest.mark.filterwarnings("ignore::rarefy.exceptions.RarefyWarning")

ESTIMATORS = [
    BSSSelector(2),
    RandomSelector(2),
    LPSVMSelector(),
    BestSubsetSelector(1, max_iter=2),
    SupportVectorSelector(BSSSelector(2)),
    KernelSubspace(3),
    SubspaceLPSVC(n_components=3),
    KernelFeatureSelector(max_iter=2),
    RankRC(),
    OrdinalRankRC(),
]
WEIGHTED = ESTIMATORS[3:]
everyone = pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)


def data():
    rng = np.random.default_rng(0)
    y = (np.arange(24) % 3 == 0).astype(int)
    return rng.standard_normal((24, 5)) + y[:, None], y


@everyone
def test_masked_values_dates_and_enormous_numbers_are_refused(estimator):
    X, y = data()
    mask = X > 1.0
    dates = np.datetime64("2020-01-01") + np.arange(X.size).reshape(X.shape)
    fitted = clone(estimator).fit(X, y)
    for bad, message in (
        (np.ma.MaskedArray(X, mask), "has masked values. Fill them in"),
        ([np.ma.MaskedArray(row, gap) for row, gap in zip(X, mask, strict=True)], "has masked values"),
        (dates, "has dates or times, which are no numbers"),
        (dates - dates[0, 0], "has dates or times"),
        (pd.DataFrame(X).rename(columns=str).assign(a=pd.Timestamp("2020-01-01")), r"'a' \(dates\) is not. Encode"),
        (pl.DataFrame(X).with_columns(pl.date(2020, 1, 1).alias("column_0")), r"'column_0' \(dates\) is not. Enc"),
        (1e160 * X, "whose squares are too large"),
    ):
        with pytest.raises(ValueError, match=message):
            clone(estimator).fit(bad, y)
    with pytest.raises(ValueError, match="has masked values"):
        clone(estimator).fit(X, np.ma.MaskedArray(y, y == 1)) if not _unsupervised(estimator) else check_labels(
            np.ma.MaskedArray(y, y == 1), "y"
        )
    for method in ("transform", "predict"):
        if hasattr(fitted, method):
            with pytest.raises(ParameterError, match="has masked values"):
                getattr(fitted, method)(np.ma.MaskedArray(X, mask))
    clone(estimator).fit(np.ma.MaskedArray(X), y)  # nothing is masked


def _unsupervised(estimator):
    return not estimator.__sklearn_tags__().target_tags.required


@pytest.mark.parametrize("estimator", WEIGHTED, ids=lambda e: type(e).__name__)
@pytest.mark.parametrize(
    "spoil",
    [
        lambda w: np.where(np.arange(24) == 3, np.nan, w),
        lambda w: np.where(np.arange(24) == 3, np.inf, w),
        lambda w: np.where(np.arange(24) == 3, -1.0, w),
        lambda w: w[:-1],
        lambda w: np.append(w, 1.0),
        lambda w: w[:, None] * [1.0, 1.0],
        lambda w: np.ma.MaskedArray(w, np.arange(24) == 3),
        lambda w: np.datetime64("2020-01-01") + np.arange(24),
        lambda w: w + 1j,
        lambda w: 0.0 * w,
        lambda w: 1e200 * w,
        lambda w: 1e-200 * w,
    ],
    ids=["nan", "inf", "negative", "short", "long", "2d", "masked", "dates", "complex", "zero", "1e200", "1e-200"],
)
def test_weights_that_are_none(estimator, spoil):
    X, y = data()
    with pytest.raises(ValueError, match=r"(?i)weight"):
        clone(estimator).fit(X, y, sample_weight=spoil(np.ones(24)))


def test_labels_that_are_missing_or_cannot_be_sorted():
    for bad in ([0.0, 1.0, np.nan], [0.0, 1.0, np.inf], np.array([0, None, 1], dtype=object)):
        with pytest.raises(ParameterError, match="y_true of mauc_score has 1 labels that are missing or infinite"):
            mauc_score(bad, [1.0, 2.0, 3.0])
    with pytest.raises(ParameterError, match="must be labels that can be sorted"):
        mauc_score(np.array([0, "a", 1], dtype=object), [1.0, 2.0, 3.0])
    with pytest.raises(ParameterError, match="y of OrdinalRankRC has 1 labels that are missing"):
        OrdinalRankRC().fit(data()[0], np.array([None, *data()[1][1:]], dtype=object))
    assert check_labels(np.array(["2020-01-01", "2021-01-01"], dtype="M8[D]"), "y").shape == (2,)


@pytest.mark.parametrize("value", [1e101, 1e300, 1e-101, 10**400])
@pytest.mark.parametrize(
    ("estimator", "name"),
    [
        (LPSVMSelector(), "C"),
        (BestSubsetSelector(1), "C"),
        (KernelFeatureSelector(), "C"),
        (KernelFeatureSelector(), "mu"),
        (RankRC(), "alpha"),
        (SubspaceLPSVC(), "gamma"),
    ],
    ids=lambda v: v if isinstance(v, str) else type(v).__name__,
)
def test_parameters_beyond_what_double_precision_tells_apart(estimator, name, value):
    if name == "mu" and value < 1.0:
        pytest.skip("a penalty may be zero, and so nearly zero")
    with pytest.raises(ParameterError, match=f"'{name}' parameter"):
        clone(estimator).set_params(**{name: value}).fit(*data())


@pytest.mark.parametrize(
    "estimator", [RankRC(kernel="poly"), SubspaceLPSVC(kernel="poly"), KernelSubspace(kernel="poly")]
)
def test_a_polynomial_of_degree_1000(estimator):
    X, y = data()
    with pytest.raises(ParameterError, match=r"degree=1000 has values up to .* to the power of 1000.*Lower degree"):
        clone(estimator).set_params(degree=1000).fit(X, y)


def test_errors_of_arithmetic_say_what_to_do_and_faults_of_programs_stay():
    for error in (np.linalg.LinAlgError("Singular matrix"), ZeroDivisionError("division"), OverflowError("too large")):
        with (
            pytest.raises(DegenerateDataError, match=r"Thing came upon .* standardising") as caught,
            numerical("Thing"),
        ):
            raise error
        assert caught.value.__cause__ is error
    with pytest.raises(IndexError), numerical("Thing"):
        raise IndexError


def test_memory_that_the_system_does_not_give_is_named():
    with (
        pytest.raises(MemoryBudgetError, match=r"Thing needs 8e\+09 GB for an array of shape .* lower n_landmarks"),
        numerical("Thing"),
    ):
        np.zeros((10**9, 10**9))
    with pytest.raises(MemoryError), numerical("Thing"):
        raise MemoryError


def test_the_data_of_functions_are_checked_too():
    X, y = data()
    masked = np.ma.MaskedArray(X, X > 1.0)
    for call in (
        lambda: rarefy.certify(masked, [0]),
        lambda: rarefy.hard_margin2(masked, y),
        lambda: rarefy.ridge_curve(masked, [0]),
        lambda: spline_kernel(masked),
        lambda: mauc_score(y, masked[:, 0]),
        lambda: BSSSelector(2).fit(X).certificate_.verify(masked),
    ):
        with pytest.raises(ParameterError, match="has masked values"):
            call()
    with pytest.raises(ParameterError, match=r"alphas of ridge_curve must be between 1e-100 and 1e\+100; got"):
        rarefy.ridge_curve(X, [0], alphas=[1e300])
    with pytest.raises(ParameterError, match=r"tol of Certificate.verify must be a number >= 0; got 'small'"):
        BSSSelector(2).fit(X).certificate_.verify(X, tol="small")


def test_weights_of_one_unit_or_another():
    X, _ = data()
    np.testing.assert_array_equal(check_weights(None, X, "Thing"), 1.0)
    np.testing.assert_array_equal(check_weights([1e-200, *np.ones(23)], X, "Thing")[:2], [1e-200, 1.0])
    with pytest.raises(ParameterError, match=r"sample_weight of Thing goes up to 1e\+30; .* Divide all by 1e\+30"):
        check_weights(np.full(24, 1e30), X, "Thing")


def test_sums_of_squares_that_are_numbers():
    for X in (np.full((3, 2), 1e150), np.full((3, 2), 1e30, dtype=np.float32), np.full((3, 2), 1e150).T[::-1]):
        assert np.array_equal(check_array(X), X)


def test_no_module_checks_arrays_in_its_own_way():
    """scikit-learn's checks of arrays and weights are called from one place, so that nothing slips by."""
    for path in Path(rarefy.__file__).parent.rglob("*.py"):
        if path.name != "_validation.py":
            found = {
                alias.name
                for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
                if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("sklearn")
                for alias in node.names
            }
            assert not found & {"validate_data", "check_array", "check_X_y", "_check_sample_weight"}, path
