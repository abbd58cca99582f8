"""What every estimator that works on blocks promises: the same as on the array, however the rows are cut."""

import importlib
import inspect

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone

import rarefy
from rarefy import blocks
from rarefy.exceptions import MemoryBudgetError, ParameterError
from rarefy.kernel import KernelFeatureSelector, KernelSubspace, SubspaceLPSVC
from rarefy.ranking import OrdinalRankRC, OrdinalRankRCCV, RankRC, RankRCCV
from rarefy.selection import (
    BestSubsetSelector,
    BSSSelector,
    LeverageScoreSelector,
    RandomSelector,
    RRQRSelector,
)

pytestmark = pytest.mark.filterwarnings(
    "ignore::rarefy.exceptions.TruncatedRankWarning",  # fewer features than dimensions are no subject here
    "ignore::rarefy.exceptions.FewerFeaturesWarning",
)

INSTANCES = [
    BSSSelector(20, rank=6),
    BSSSelector(10),
    BSSSelector(),
    BSSSelector(40),
    BSSSelector(15, rank=0.9, weighting="bss"),
    BSSSelector(15, rank=5, method="dual"),
    BSSSelector(15, rank=5, method="unweighted"),
    BSSSelector(15, rank=5, rescale=False),
    BSSSelector(12, rank=4, sketch_size=20, random_state=0),
    LeverageScoreSelector(12, random_state=0),
    LeverageScoreSelector(12, sampling="poisson", random_state=1),
    LeverageScoreSelector(12, sampling="top", rank=3),
    LeverageScoreSelector(12, sampling="adaptive"),
    RRQRSelector(9),
    RRQRSelector(20, past_rank="continue"),
    RandomSelector(4, random_state=0),
    BestSubsetSelector(3, C=0.1),
    BestSubsetSelector(3, loss="logistic", C=0.1, standardize=False, max_nodes=0),
    BestSubsetSelector(2, loss="hinge", C=0.01, max_nodes=0),
    BestSubsetSelector(2, task="regression", max_nodes=0),
    BestSubsetSelector("auto", C=0.1, max_nodes=0, cv=3),
]
WITH_KERNELS = {
    RankRC,
    RankRCCV,
    OrdinalRankRC,
    OrdinalRankRCCV,
    KernelSubspace,
    SubspaceLPSVC,
    KernelFeatureSelector,
}
"""Of these see `test_blocks_kernels.py`."""
CLOSE = {"rtol": 1e-8, "atol": 1e-8}


def name(estimator):
    return repr(estimator).replace("\n", "")


def draw():
    """300 rows, 32 columns of which two are zero and two are sums of others, and labels."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((300, 32)) * rng.uniform(0.5, 2.0, 32) + 0.3
    X[:, [7, 19]] = 0.0
    X[:, 30], X[:, 31] = X[:, 0] + X[:, 1], X[:, 2] - X[:, 3]
    X[rng.random(X.shape) < 0.2] = 0.0
    y = np.where(X[:, 4] + X[:, 9] - X[:, 14] + rng.standard_normal(300) > 0.3, "yes", "no")
    return X, y


X, LABELS = draw()


def target(estimator):
    if not isinstance(estimator, BestSubsetSelector):
        return ()
    return ((LABELS == "yes") + 0.25 * X[:, 4],) if estimator.task == "regression" else (LABELS,)


def kinds(folder):
    """The same matrix in blocks of all kinds."""
    single = X.astype(np.float32)
    yield X, blocks.from_arrays(folder / "a", X, block_rows=100)
    yield X, blocks.from_arrays(folder / "b", X, block_rows=37)
    yield sp.csr_array(X), blocks.from_arrays(folder / "c", sp.csr_array(X), block_rows=64)
    yield single, blocks.from_arrays(folder / "d", single, block_rows=1000)
    yield X, blocks.from_iterator(lambda: (X[i : i + 50] for i in range(0, 300, 50)))


@pytest.mark.parametrize("estimator", INSTANCES, ids=name)
def test_blocks_give_the_same_as_the_array(estimator, tmp_path):
    for data, in_blocks in kinds(tmp_path):
        y = target(estimator)
        expected, found = clone(estimator).fit(data, *y), clone(estimator).fit(in_blocks, *y)
        np.testing.assert_array_equal(found.selection_order_, expected.selection_order_)
        assert found.n_features_in_ == 32
        for attribute in ("weights_", "scores_", "coef_", "intercept_"):
            if hasattr(expected, attribute):
                # Solvers stop at a gap, and reach it by other roundings.
                close = {"rtol": 1e-4, "atol": 1e-5} if attribute in ("coef_", "intercept_") else CLOSE
                np.testing.assert_allclose(getattr(found, attribute), getattr(expected, attribute), **close)
        kept, dense = found.transform(in_blocks), found.transform(data)
        dense = dense.toarray() if sp.issparse(dense) else dense
        parts = [part.toarray() if sp.issparse(part) else part for part in kept.blocks()]
        assert (kept.shape, kept.dtype, parts[0].dtype) == (dense.shape, dense.dtype, dense.dtype)
        np.testing.assert_allclose(np.vstack(parts), dense, rtol=1e-6 if dense.dtype == np.float32 else 1e-12)
        if hasattr(expected, "certificate_"):
            compare_certificates(expected.certificate_, found.certificate_, estimator, data, in_blocks, y)


def compare_certificates(a, b, estimator, data, in_blocks, y):
    """Both say the same, and both are verified by either."""
    assert (a.kind, a.verdict, a.fingerprint) == (b.kind, b.verdict, b.fingerprint)
    for field in ("distortion", "share", "explained", "objective", "lower_bound", "energy_kept"):
        if getattr(a, field, None) is not None:
            close = CLOSE if not isinstance(estimator, BestSubsetSelector) else {"rtol": 1e-3}
            np.testing.assert_allclose(getattr(b, field), getattr(a, field), **close)
    assert a.verify(in_blocks, *(y or (None,)))
    assert b.verify(data, *(y or (None,)))


@pytest.mark.parametrize("labelled", [{}, {"C": 0.05}, {"C": 0.05, "loss": "squared_hinge"}, {"alpha": 2.0}])
def test_certify_says_the_same_of_blocks(labelled, tmp_path):
    support, y = [0, 4, 9, 14, 20], LABELS if "C" in labelled else None
    expected = rarefy.certify(X, support, y=y, **labelled)
    found = rarefy.certify(blocks.from_arrays(tmp_path / "c", X, block_rows=70), support, y=y, **labelled)
    assert (found.kind, found.verdict, found.fingerprint) == (expected.kind, expected.verdict, expected.fingerprint)
    for field in ("objective_ratio", "explained_ratio", "risk_ratio", "optimality", "margin_floor"):
        a, b = getattr(expected, field), getattr(found, field)
        assert (a is None) == (b is None)
        if a is not None:
            np.testing.assert_allclose(b, a, rtol=1e-3 if field == "optimality" else 1e-6)
    assert found.verify(X, y)
    assert expected.verify(blocks.open(tmp_path / "c"), y)


def test_selection_is_one_pass_and_keeps_to_the_budget(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    data = blocks.from_arrays(tmp_path / "p", rng.standard_normal((4000, 20)), block_rows=500)
    rows, passes = data.rows(), []
    stored = rows._blocks_in_storage
    monkeypatch.setattr(rows, "_blocks_in_storage", lambda index=None: passes.append(1) or stored(index))
    with rarefy.config_context(memory_budget="100kB"):  # the data have 640
        for estimator in (BSSSelector(12, rank=5), LeverageScoreSelector(12, random_state=0), RRQRSelector(5)):
            estimator.fit(data)
    assert len(passes) == 1


def test_names_of_columns_follow_the_blocks(tmp_path):
    names = [f"c{j}" for j in range(32)]
    data = blocks.from_arrays(tmp_path / "n", X, LABELS, columns=names, target_name="answer")
    selector = RandomSelector(3, random_state=0).fit(data)
    assert selector.feature_names_in_.tolist() == names
    kept = selector.transform(data)
    assert list(kept.columns) == selector.get_feature_names_out().tolist()
    written = kept.write(tmp_path / "kept", block_rows=90)
    assert (written.columns, written.n_blocks, written.target_name) == (kept.columns, 4, "answer")
    np.testing.assert_array_equal(written.target, LABELS)
    np.testing.assert_array_equal(np.vstack(list(written.blocks())), selector.transform(pd.DataFrame(X, columns=names)))
    other = blocks.from_arrays(tmp_path / "o", X, columns=names[::-1])
    with pytest.raises(ParameterError, match="column 0 was 'c0' and is 'c31'"):
        selector.transform(other)
    with pytest.raises(ParameterError, match="X has 3 features, but RandomSelector is expecting 32"):
        selector.transform(written)


def test_selected_blocks_can_be_fitted_again(tmp_path):
    data = blocks.from_arrays(tmp_path / "p", X, block_rows=90)
    first = BSSSelector(20, rank=6).fit(data)
    again, expected = RRQRSelector(4).fit(first.transform(data)), RRQRSelector(4).fit(first.transform(X))
    np.testing.assert_array_equal(again.selection_order_, expected.selection_order_)


def every_estimator():
    for module in ("rarefy.selection", "rarefy.kernel", "rarefy.ranking"):
        for _, cls in inspect.getmembers(importlib.import_module(module), inspect.isclass):
            if issubclass(cls, BaseEstimator):
                yield cls


def test_every_estimator_works_on_blocks_or_says_that_it_does_not(tmp_path):
    data = blocks.from_arrays(tmp_path / "e", X)
    works = {cls for cls in every_estimator() if cls._works_on_blocks}
    assert works == {type(e) for e in INSTANCES} | WITH_KERNELS
    for cls in set(every_estimator()) - works:
        with pytest.raises(
            ParameterError, match=f"{cls.__name__} needs all of X in memory and does not work on blocks"
        ):
            cls.__new__(cls).fit(data, LABELS)


def test_blocks_are_never_made_an_array_silently(tmp_path):
    data = blocks.from_arrays(tmp_path / "e", X)
    with pytest.raises(ParameterError, match="A BlockFolder is not made an array silently: 300 x 32 entries"):
        np.asarray(data)


def test_a_path_is_not_taken_for_data(tmp_path):
    blocks.from_arrays(tmp_path / "e", X)
    with pytest.raises(ValueError, match=r"Expected 2D array|could not convert|scalar"):
        RandomSelector().fit(str(tmp_path / "e"))


def test_what_does_not_fit_is_an_error(tmp_path):
    wide = blocks.from_arrays(tmp_path / "w", np.random.default_rng(0).standard_normal((20, 3000)), block_rows=5)
    with rarefy.config_context(memory_budget="300kB"), pytest.raises(MemoryBudgetError, match="Raise it with"):
        BSSSelector(30).fit(wide)
