"""The tables about feature selection inside a kernel SVM: cells, rankings, claims."""

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC

from rarefy.datasets import _catalogue, make_ndcc
from rarefy.exceptions import MissingDataError
from rarefy.papers import load_tables
from rarefy.papers.claims import judge
from rarefy.papers.feature_selection import tables, theorems
from rarefy.papers.page import write_results

NUMBERS = {
    "fs-table-1": 86,
    "fs-table-2": 23,
    "fs-figure-3": 7,
    "fs-table-4": 53,
    "fs-madelon": 7,
    "fs-figure-13": 0,
    "fs-figure-13-madelon": 0,
    "fs-theorems": 3,
    "fs-example": 4,
}
"""How many numbers of the thesis a table has."""


def product_of_two(n, d, seed):
    """Columns 1 and 3 together determine the class, neither does alone."""
    X = np.random.default_rng(seed).standard_normal((n, d))
    return X, (X[:, 1] * X[:, 3] > 0).astype(np.int8)


@pytest.fixture
def small(tmp_path, monkeypatch):
    """Files in the formats of the real sets, and few parameters to choose from."""
    (tmp_path / "uci").mkdir()
    X, y = product_of_two(150, 6, 0)
    np.savez(tmp_path / "uci" / "sonar.npz", X=X.astype(np.float32), y=y)
    monkeypatch.setitem(_catalogue.ARRAYS, "sonar", _catalogue.Source("uci/sonar.npz", (150, 6), {}, "test"))
    arrays = {}
    for part, n, seed in (("train", 150, 1), ("test", 80, 2)):
        X, y = product_of_two(n, 6, seed)
        arrays |= {f"X_{part}": X, f"y_{part}": y}
        source = _catalogue.Source("uci/madelon.npz", (n, 6), {}, "test")
        monkeypatch.setitem(_catalogue.SPLIT_ARRAYS["madelon"], part, source)
    np.savez(tmp_path / "uci" / "madelon.npz", **arrays)
    rng, arrays = np.random.default_rng(0), {}
    for part, n in (("train", 120), ("test", 60)):
        y = np.where(np.arange(n) % 2, 3, 8)
        images = rng.integers(0, 60, (n, 28, 28))
        images[y == 8, 10:14, 4:8] += 150
        arrays |= {f"X_{part}": images.reshape(n, -1).astype(np.uint8), f"y_{part}": y.astype(np.uint8)}
        source = _catalogue.Source("mnist.npz", (n, 784), {}, "test")
        monkeypatch.setitem(_catalogue.SPLIT_ARRAYS["mnist"], part, source)
    np.savez(tmp_path / "mnist.npz", **arrays)
    few = tables._Search((4.0,), (2.0**-7,), (1.0,), (4.0,), 2, {"C": [4.0], "gamma": [0.1, 1.0]})
    monkeypatch.setitem(tables._SEARCHES, "small", few)
    return tmp_path


def test_cells_of_the_probes_measure_where_a_search_ends(small):
    found = tables.probes(None, method="AO-II, polished", n_noise=2, geometry=0, search="small")
    assert found["right"] >= 18
    assert found["error"] < 30
    assert found["saddle"] == float(found["curvature"] < -1e-3)
    assert found["all right"] == float(found["right"] == 20 and found["wrong"] == 0)


def test_methods_with_exact_steps_search_with_them(small, monkeypatch):
    asked = []
    learned = tables.ExactSteps._settings
    monkeypatch.setattr(tables.ExactSteps, "_settings", lambda self: asked.append(learned(self).step) or learned(self))
    common = {"n_noise": 0, "geometry": 0, "search": "small"}
    exact = tables.probes(None, method="AO-II, exact step", **common)
    assert asked == ["exact"]
    krylov = tables.probes(None, method="AO-II", **common)
    assert asked == ["exact"]
    assert exact["curvature"] != krylov["curvature"]
    assert exact["right"] >= 18


def test_theorems_have_no_exceptions_and_false_statements_do(monkeypatch):
    for statement in theorems._STATEMENTS:
        found = tables.theorems(None, statement=statement, seed=1, n_functions=100)
        assert found["exceptions"] == 0.0
        assert found["assumption holds"] >= 20
    statements = {"always": lambda rng: False, "half": lambda rng: bool(rng.random() < 0.5), "never": lambda rng: None}
    monkeypatch.setattr(theorems, "_STATEMENTS", statements)
    found = {name: tables.theorems(None, statement=name, seed=0, n_functions=50) for name in statements}
    assert found["always"]["exceptions"] == 1.0
    assert 0.2 < found["half"]["exceptions"] < 0.8
    assert found["never"]["assumption holds"] == 0
    assert np.isnan(found["never"]["exceptions"])


def test_the_example_is_a_saddle_point_that_only_a_shared_scale_shows():
    found = {group: tables.saddle_example(None, group=group) for group in ("x1, x2", "x3", "x1, x2, x3", "x3, y")}
    assert found["x1, x2"]["curvature"] == pytest.approx(0.0, abs=1e-6)
    assert found["x3"]["curvature"] == pytest.approx(2.0)
    assert found["x1, x2, x3"]["curvature"] == pytest.approx(3.0 - np.sqrt(19.0), rel=1e-6)
    assert found["x3, y"]["curvature"] == pytest.approx(5.0 - np.sqrt(45.0), rel=1e-4)


def test_cells_of_the_clusters_compare_one_objective(small, monkeypatch):
    def few_columns(n, n_noise, **options):
        return make_ndcc(n, n_informative=3, n_noise=n_noise // 20, **options)

    monkeypatch.setattr(tables, "make_ndcc", few_columns)
    monkeypatch.setattr(tables, "_INFORMATIVE", 3)
    tables._clusters.cache_clear()
    methods = ("SVM", "SVM, informative", "GMKL", "AO-II", "AO-II, true start")
    common = {"concentration": 3.0, "geometry": 0, "search": "small"}
    found = {method: tables.clusters(None, method=method, **common) for method in methods}
    tables._clusters.cache_clear()
    assert found["SVM"]["right"] == 3
    assert found["SVM"]["wrong"] == 5
    assert found["SVM, informative"]["wrong"] == found["AO-II, true start"]["wrong"] == 0
    best = found["AO-II, true start"]["objective"]
    assert all(one["objective"] >= 0.95 * best for one in found.values())
    assert found["SVM, informative"]["error"] <= found["SVM"]["error"]
    assert all(0 <= one["refit"] <= 60 for one in found.values())


def test_cells_of_the_sets_choose_and_select(small):
    cells = [("sonar", "SVM"), ("sonar", "GMKL"), ("sonar", "AO-II"), ("madelon", "AO-II, polished")]
    for collection, method in cells:
        found = tables.sets(small, collection=collection, method=method, split=0, search="small")
        assert found["error"] < 45
        assert found["features"] == 6 if method == "SVM" else 1 <= found["features"] <= 6
    assert found["features"] == 2
    assert found["refit"] < 20


def test_parts_of_a_set_are_standardised_and_disjoint(small):
    X, y, X_test, y_test, folds = tables._split(small, "sonar", 0, 3)
    assert (len(y), len(y_test), folds.n_splits) == (100, 50, 3)
    assert np.abs(X.mean(axis=0)).max() < 1e-6
    X, y, X_test, y_test, folds = tables._split(small, "madelon", 1, 3)
    ((learn, choose),) = folds.split()
    assert (len(learn), len(choose), len(X_test)) == (100, 50, 80)
    X, y, X_test, y_test, folds = tables._split(None, "ndcc", 1, 3)
    ((learn, choose),) = folds.split()
    assert (len(learn), len(choose), len(X_test)) == (200, 200, 1000)


def test_missing_sets_are_named(tmp_path):
    for data in (None, tmp_path):
        with pytest.raises(MissingDataError, match="uci/wdbc"):
            tables.sets(data, collection="wdbc", method="SVM", split=0, search="small")


def test_rankings_that_consider_pairs_of_columns_put_the_pair_first(small):
    for ranking in ("MI", "Relief", "RFE", "AO-II"):
        one, two, many = tables.rankings(
            small, collection="sonar", ranking=ranking, split=0, search="small", k=[1, 2, 9]
        )
        assert all(0 <= found["error"] <= 70 for found in (one, two, many))
        if ranking in ("RFE", "AO-II"):
            assert two["error"] < 25 < one["error"]


def test_elimination_removes_what_changes_the_margin_least(small):
    X, y = product_of_two(60, 5, 3)
    order = tables._eliminated(X, y, "small", StratifiedKFold(2))
    assert sorted(order) == list(range(5))
    best = {"C": 4.0, "gamma": 0.1}
    changes = []
    for gamma in (0.1, 1.0):
        svm = SVC(**best | {"gamma": gamma}).fit(X, y)
        a, V = svm.dual_coef_[0], svm.support_vectors_

        def squared(V, a=a, gamma=gamma):
            return sum(
                a[i] * a[j] * np.exp(-gamma * np.sum((V[i] - V[j]) ** 2)) for i in range(len(a)) for j in range(len(a))
            )

        changes.append(np.argmin([abs(squared(V) - squared(np.delete(V, k, axis=1))) for k in range(5)]))
    assert order[-1] in changes


def test_a_tenth_of_many_features_is_eliminated_at_a_time(small):
    X, y = product_of_two(60, 80, 4)
    assert sorted(tables._eliminated(X, y, "small", StratifiedKFold(2))) == list(range(80))


def test_pixels_that_differ_are_selected(small):
    for method in ("SVM", "AO-II"):
        found = tables.pixels(small, pair="3 or 8", method=method, split=0, search="small")
        assert found["error"] < 10
        assert found["pixels"] == 196 if method == "SVM" else found["pixels"] < 100


@pytest.mark.parametrize("name", NUMBERS)
def test_claims_name_cells_of_the_grids(name):
    table = load_tables()[name]
    numbers = [claim for claim in table.claims if claim.expected is not None]
    assert len(numbers) == NUMBERS[name]
    # Every claim that can be checked has cells in the full run; numbers are not compared with the small one.
    full, quick = (
        [(cell, {claim.metric: 1.0 for claim in table.claims}) for cell in table.cells(mode)]
        for mode in ("full", "quick")
    )
    assert "not run" not in {judge(claim, full).outcome for claim in table.claims}
    if "search" in table.quick:
        assert {judge(claim, quick).outcome for claim in numbers if claim.data is None} <= {"not run"}
    assert {judge(claim, full).outcome for claim in numbers if claim.data is not None} <= {"data unavailable"}


def test_selected_pixels_are_drawn_over_the_mean_images(small, tmp_path):
    cell = {"pair": "3 or 8", "method": "AO-II", "split": 0, "search": "small"}
    found = tables.pixels(small, **cell)
    assert np.count_nonzero(found["pixel weights"]) == found["pixels"]
    assert set(found["mean images"]) == {"mean 3", "mean 8"}
    table = load_tables()["fs-figure-3"]
    page = write_results(table, "quick", [(cell, found)], [], tmp_path).read_text(encoding="utf-8")
    plain = write_results(table, "quick", [(cell, {"error": 1.0, "pixels": 9.0})], [], tmp_path)
    assert page.count("<svg") == plain.read_text(encoding="utf-8").count("<svg") + 1
