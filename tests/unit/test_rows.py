"""The suite that every form of Rows must pass: add a form to FORMS and it is tested."""

import importlib
import inspect
import itertools
import pkgutil
import tempfile
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import rarefy
import rarefy.backends
import rarefy.core.linalg
import rarefy.core.svm
from dask_cluster import on_workers
from rarefy._input import RowMap
from rarefy.backends.block_rows import BlockRows, IteratorRows, Remembering
from rarefy.backends.dask_rows import DaskRows
from rarefy.backends.kernel_rows import KernelRows, KernelValues, kernel_rows
from rarefy.backends.samples import Samples
from rarefy.backends.scratch_rows import ScratchRows
from rarefy.backends.standardized_rows import StandardizedRows
from rarefy.backends.streamed_rows import ColumnsOf, MappedRows, RowsOf, StreamedColumns, StreamedRows
from rarefy.core.linalg import rows as rows_module
from rarefy.core.linalg.class_pairs import ClassPairs
from rarefy.core.linalg.columns import column_deviations, gathered
from rarefy.core.linalg.rough_rows import RoughRows
from rarefy.core.linalg.rows import DenseRows, Rows, SparseRows, TransposedRows, as_rows, streamed_gram
from rarefy.core.linalg.with_ones import WithOnes

FORMS = {
    "dense": lambda A: DenseRows(A),
    "dense, column order": lambda A: DenseRows(np.asfortranarray(A)),
    "dense float32": lambda A: DenseRows(A.astype(np.float32)),
    "dense float32, column order": lambda A: DenseRows(np.asfortranarray(A, dtype=np.float32)),
    "dense float32, every second row": lambda A: DenseRows(np.repeat(A.astype(np.float32), 2, axis=0)[::2]),
    "csr array": lambda A: SparseRows(sp.csr_array(A)),
    "csc array": lambda A: SparseRows(sp.csc_array(A)),
    "csr matrix": lambda A: SparseRows(sp.csr_matrix(A)),
    "csr float32": lambda A: SparseRows(sp.csr_array(A.astype(np.float32))),
    "transposed dense": lambda A: DenseRows(A.T).T,
    "kernel values on demand": lambda A: KernelRows(A.shape, lambda rows: A[rows]),
    "transposed on demand": lambda A: KernelRows(A.T.shape, lambda rows: A.T[rows]).T,
    "transposed csr": lambda A: SparseRows(sp.csr_array(A.T)).T,
    "float32 on disk": lambda A: on_disk(A),
    "float32 on disk, from blocks": lambda A: on_disk(Samples(in_blocks(A))),
    "on workers": lambda A: on_workers(A),
    "on workers, float32": lambda A: on_workers(A.astype(np.float32)),
    "on workers, csr": lambda A: on_workers(sp.csr_array(A)),
    "on workers, some rows": lambda A: on_workers(np.repeat(A, 2, axis=0)).restricted(np.arange(0, 2 * len(A), 2)),
    "on workers, columns times numbers": lambda A: on_workers(A / 2).scaled(2.0),
    "on workers, made and held": lambda A: on_workers(A / 2).mapped(RowMap(A.shape[1], twice)).held(),
    "transposed on workers": lambda A: on_workers(A.T, block_rows=2).T,
    "made of blocks": lambda A: MappedRows(in_blocks(A / 2), RowMap(A.shape[1], lambda part: 2 * part)),
    "made of blocks of csr": lambda A: MappedRows(
        in_blocks(sp.csr_array(A)), RowMap(A.shape[1], lambda part: part.toarray())
    ),
    "some rows made of blocks": lambda A: MappedRows(
        in_blocks(np.repeat(A, 2, axis=0)), RowMap(A.shape[1], lambda part: part)
    ).subset(np.arange(0, 2 * len(A), 2)),
    "made of blocks float32": lambda A: MappedRows(in_blocks(A), RowMap(A.shape[1], same, fill_same, True)),
    "blocks": lambda A: in_blocks(A),
    "blocks of one row": lambda A: in_blocks(A, block_rows=1),
    "blocks float32": lambda A: in_blocks(A.astype(np.float32)),
    "blocks of csr": lambda A: in_blocks(sp.csr_array(A)),
    "blocks of csr float32": lambda A: in_blocks(sp.csr_array(A.astype(np.float32))),
    "transposed blocks": lambda A: in_blocks(A.T, block_rows=2).T,
    "blocks less numbers, over numbers": lambda A: standardized(A),
    "some rows of blocks less numbers": lambda A: standardized(np.repeat(A, 2, axis=0)).restricted(
        np.arange(0, 2 * len(A), 2)
    ),
    "some rows of blocks": lambda A: RowsOf(in_blocks(np.repeat(A, 2, axis=0)), np.arange(0, 2 * len(A), 2)),
    "rows of blocks in another order": lambda A: RowsOf(in_blocks(A[::-1]), np.arange(len(A))[::-1]),
    "some rows of blocks of csr": lambda A: RowsOf(
        in_blocks(sp.csr_array(np.repeat(A, 2, axis=0))), np.arange(1, 2 * len(A), 2)
    ),
    "some columns of blocks": lambda A: in_blocks(np.hstack([A, A])).columns(
        np.arange(A.shape[1]) + A.shape[1] * (np.arange(A.shape[1]) % 2), np.ones(A.shape[1])
    ),
    "columns of blocks times numbers": lambda A: in_blocks(A / 2).scaled(2.0),
    "columns of blocks of csr times numbers": lambda A: in_blocks(sp.csr_array(A * 4)).scaled(0.25),
    "iterator": lambda A: IteratorRows(lambda: (A[i : i + 8] for i in range(0, len(A), 8))),
    "iterator that uses its memory again": lambda A: IteratorRows(lambda: same_memory(A)),
    "iterator of csr": lambda A: IteratorRows(lambda: (sp.csr_array(A[i : i + 8]) for i in range(0, len(A), 8))),
}
# Class pairs hold a matrix of their own shape: samples by classes, K blocks wide.
PAIRS = {
    "class pairs": lambda pairs: pairs,
    "class pairs, transposed twice": lambda pairs: pairs.T.T,
    "transposed class pairs": lambda pairs: pairs.T,
}
WITH_ONES = {
    "with ones": lambda X: WithOnes(DenseRows(X)),
    "with twos, float32 csr by two": lambda X: WithOnes(SparseRows(sp.csr_array(X.astype(np.float32))), 2.0, 2.0),
    "with ones, transposed": lambda X: WithOnes(DenseRows(X)).T,
}


def values_of(A, cheap=True):
    def fill(part, out):
        out[...] = part

    return KernelValues(A, RowMap(A.shape[1], lambda part: part, fill), cheap)


def twice(part):
    return 2 * part


def same(part):
    return part


def fill_same(part, out):
    out[...] = part


def on_disk(A):
    with rarefy.config_context(memory_budget=0, overflow="disk"):
        rows, where = kernel_rows(values_of(A))
    assert where.startswith("on disk: ")
    return rows


FOLDERS = tempfile.TemporaryDirectory(prefix="rarefy-test-rows-")
NUMBERS = itertools.count()


def in_blocks(A, block_rows=10):
    return rarefy.blocks.from_arrays(Path(FOLDERS.name) / str(next(NUMBERS)), A, block_rows=block_rows).rows()


def standardized(A):
    """Other columns, of which these become again without rounding."""
    scale = 2.0 ** (np.arange(A.shape[1]) % 3)
    return StandardizedRows(in_blocks(A * scale), np.zeros(A.shape[1]), scale)


def same_memory(A):
    """Blocks that overwrite each other."""
    memory = np.empty((8, A.shape[1]))
    for start in range(0, len(A), 8):
        part = A[start : start + 8]
        memory[: len(part)] = part
        yield memory[: len(part)]


def class_pairs():
    """ClassPairs and the matrix that it stands for, written out row by row."""
    rng = np.random.default_rng(7)
    F, labels = np.round(rng.standard_normal((9, 3)) * 8) / 8, rng.permutation(np.repeat([0, 1, 2], 3))
    # Against a constant direction, the first class against the second, and both against the third.
    contrast = np.array([[0, 1, 1], [0, -1, 1], [0, 0, -2]]) / np.sqrt([1, 2, 6])
    dense = []
    for x, own in zip(F, labels, strict=True):
        for shift in (1, 2):
            dense.append(np.kron(contrast[own] - contrast[(own + shift) % 3], x))
    return ClassPairs.of(DenseRows(F), labels, 3), np.array(dense)


@pytest.fixture(params=[*FORMS, *PAIRS, *WITH_ONES])
def case(request, monkeypatch):
    """A form of Rows and the matrix that it holds."""
    monkeypatch.setattr(rows_module, "BLOCK_ENTRIES", 40)  # several blocks, the last one ragged
    monkeypatch.setattr(rows_module, "WIDENED_ENTRIES", 40)
    if request.param in PAIRS:
        pairs, dense = class_pairs()
        form = PAIRS[request.param](pairs)
        return form, dense if form.shape == dense.shape else dense.T
    rng = np.random.default_rng(0)
    # Values that float32 holds exactly, so that all forms hold the same matrix.
    A = np.round(rng.standard_normal((37, 5)) * 8) / 8 * (rng.random((37, 5)) < 0.5)
    if request.param in WITH_ONES:
        form = WITH_ONES[request.param](A[:, :-1])
        A[:, -1] = 1.0
        A *= 2.0 if "twos" in request.param else 1.0
        return form, A.T if "transposed" in request.param else A
    return FORMS[request.param](A), A


@pytest.fixture
def form(case):
    return case[0]


@pytest.fixture
def A(case):
    return case[1]


def test_every_class_of_rows_has_a_form():
    """Also those of other modules: whoever adds one adds it here."""
    pairs, _ = class_pairs()
    used = {type(make(np.eye(3))) for make in FORMS.values()} | {type(make(pairs)) for make in PAIRS.values()}
    used |= {type(make(np.eye(3))) for make in WITH_ONES.values()}
    streamed = {
        KernelRows,
        DaskRows,
        MappedRows,
        ScratchRows,
        StandardizedRows,
        BlockRows,
        IteratorRows,
        RowsOf,
        ColumnsOf,
        StreamedColumns,
    }
    assert used == {DenseRows, SparseRows, ClassPairs, TransposedRows, WithOnes} | streamed
    found = set()
    for package in (rarefy.core.linalg, rarefy.core.svm, rarefy.backends):
        for info in pkgutil.iter_modules(package.__path__):
            module = importlib.import_module(f"{package.__name__}.{info.name}")
            for thing in vars(module).values():
                if inspect.isclass(thing) and {"gram", "sketch", "blocks"} <= set(dir(thing)):
                    found.add(thing)
    assert found - {Rows, rows_module.OnDemand, RoughRows, StreamedRows, Remembering} == used


def test_rough_rows_have_products_in_single_precision():
    A, rng = np.random.default_rng(0).standard_normal((60, 7)), np.random.default_rng(1)
    V, U = rng.standard_normal((7, 3)), rng.standard_normal((60, 2))
    for whole in (DenseRows(A), SparseRows(sp.csr_array(A))):
        rough = RoughRows.of(whole)
        assert rough.dtype == (rough @ V).dtype == (rough.T @ U).dtype == np.float32
        np.testing.assert_allclose(rough @ V, A @ V, atol=1e-5)
        np.testing.assert_allclose(rough.T @ U, A.T @ U, atol=1e-5)
    for factor in (1e39, 1e-39):  # no numbers of single precision
        whole = DenseRows(A * factor)
        assert RoughRows.of(whole) is whole


def test_is_rows(form, A):
    assert isinstance(form, Rows)
    assert form.shape == A.shape
    assert form.dtype.kind == "f"


def test_products(form, A):
    rng, (n, k) = np.random.default_rng(1), A.shape
    for v in (rng.standard_normal(k), rng.standard_normal((k, 3))):
        np.testing.assert_allclose(form @ v, A @ v, rtol=1e-13, atol=1e-14)
    for u in (rng.standard_normal(n), rng.standard_normal((n, 2))):
        np.testing.assert_allclose(form.T @ u, A.T @ u, rtol=1e-12, atol=1e-14)
    assert (form @ v).dtype == np.float64


def test_gram_with_and_without_weights(form, A):
    w = np.random.default_rng(2).random(len(A))
    for weights in (w, w - 0.5):  # weights may be negative
        np.testing.assert_allclose(form.gram(weights), A.T @ (weights[:, None] * A), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(form.gram(), A.T @ A, rtol=1e-13, atol=1e-14)
    assert form.gram().dtype == np.float64


def test_gram_of_the_transpose(form, A):
    w = np.random.default_rng(2).random(A.shape[1])
    np.testing.assert_allclose(form.T.gram(), A @ A.T, rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(form.T.gram(w), (A * w) @ A.T, rtol=1e-12, atol=1e-14)


def test_rough_gram_has_single_precision(form, A):
    np.testing.assert_allclose(form.gram(rough=True), A.T @ A, rtol=1e-5, atol=1e-5)


def test_sketch(form, A):
    G = np.random.default_rng(3).standard_normal((4, len(A)))
    np.testing.assert_allclose(form.sketch(G), G @ A, rtol=1e-12, atol=1e-14)


def test_take_subset_and_scaled(form, A):
    n, k = A.shape
    index = np.array([n - 7, 2, 2, n - 1])
    T = np.random.default_rng(4).standard_normal((k, 2))
    np.testing.assert_array_equal(form.take(index), A[index])
    np.testing.assert_allclose(form.take(index, T), A[index] @ T, rtol=1e-13, atol=1e-15)
    np.testing.assert_array_equal(form.subset(index).take(np.arange(4)), A[index])
    np.testing.assert_array_equal(form.subset(index).subset(np.array([3, 0])).take(np.arange(2)), A[index[[3, 0]]])
    np.testing.assert_array_equal(form.T.subset(index[1:3]).take(np.arange(2)), A.T[index[1:3]])
    np.testing.assert_array_equal(form.scaled(0.5).take(np.arange(n)), A / 2)


def test_blocks_cover_all_rows_in_order(form, A):
    T = np.random.default_rng(5).standard_normal((A.shape[1], 2))
    for factor, expected in ((None, A), (T, A @ T)):
        slices, blocks = zip(*form.blocks(factor), strict=True)
        assert len(blocks) > 1
        assert [s.start for s in slices] == [0, *[s.stop for s in slices[:-1]]]
        np.testing.assert_allclose(np.vstack(blocks), expected, rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(streamed_gram(form, T), (A @ T).T @ (A @ T), rtol=1e-12)


def test_no_rows_at_all(form, A):
    none, k = form.subset(np.array([], dtype=np.intp)), A.shape[1]
    assert none.shape == (0, k)
    np.testing.assert_array_equal(none.gram(), np.zeros((k, k)))
    assert (none @ np.ones(k)).shape == (0,)
    np.testing.assert_array_equal(none.T @ np.ones(0), np.zeros(k))
    np.testing.assert_array_equal(none.sketch(np.ones((2, 0))), np.zeros((2, k)))


def plain_norms(vectors):
    """Lengths by hypotenuses, which neither overflow nor vanish."""
    return np.array([np.hypot.reduce(np.append(0.0, v)) for v in vectors])


def test_norms_and_the_largest_entry(form, A):
    np.testing.assert_allclose(form.row_norms(), plain_norms(A), rtol=1e-14)
    np.testing.assert_allclose(form.column_norms(), plain_norms(A.T), rtol=1e-14)
    np.testing.assert_allclose(form.T.row_norms(), plain_norms(A.T), rtol=1e-14)
    assert form.largest_entry() == form.T.largest_entry() == np.abs(A).max()
    none = form.subset(np.array([], dtype=np.intp))
    assert none.row_norms().shape == (0,)
    np.testing.assert_array_equal(none.column_norms(), np.zeros(A.shape[1]))
    assert none.largest_entry() == 0.0


@pytest.mark.parametrize("name", [name for name in FORMS if "32" not in name])
def test_norms_whose_squares_vanish_or_overflow(name, monkeypatch):
    monkeypatch.setattr(rows_module, "BLOCK_ENTRIES", 12)
    sizes = np.array([1e-200, 5e-324, 1.0, 1e200])
    A = np.array([[3.0], [0.0], [-4.0], [12.0], [0.0], [84.0]]) * sizes
    A[4] = [0.0, 0.0, 3e160, 4e160]
    form = FORMS[name](A)
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        rows, columns = form.row_norms(), form.column_norms()
    np.testing.assert_allclose(rows, plain_norms(A), rtol=1e-14)
    np.testing.assert_allclose(columns, plain_norms(A.T), rtol=1e-14)
    assert columns[1] == 85 * 5e-324
    assert form.largest_entry() == 84e200


def test_entries_that_are_stored_in_parts_are_added_first():
    parts = sp.csr_array((np.array([3.0, -1.0, 2.0, 1.0]), np.array([1, 1, 0, 1]), np.array([0, 2, 4])), shape=(2, 2))
    for X in (parts, parts.T.tocsr().T, parts.T):
        form, A = SparseRows(X), X.toarray()
        np.testing.assert_allclose(form.row_norms(), plain_norms(A))
        np.testing.assert_allclose(form.column_norms(), plain_norms(A.T))
        assert form.largest_entry() == 2.0
    assert parts.nnz == 4  # the caller's matrix is as it was


def test_sparse_norms_and_products_make_nothing_dense_and_a_transpose_copies_nothing(monkeypatch):
    rng = np.random.default_rng(0)
    X = sp.csr_array(rng.standard_normal((30, 40)) * (rng.random((30, 40)) < 0.1))
    form, dense = SparseRows(X), X.toarray()
    monkeypatch.setattr(SparseRows, "_dense", None)
    monkeypatch.setattr(sp.csc_array, "tocsr", None)
    np.testing.assert_allclose(form.T.column_norms(), np.linalg.norm(dense, axis=1))
    np.testing.assert_allclose(form.T @ np.ones(30), dense.sum(axis=0))
    assert np.shares_memory(form.T._A.data, X.data)


def test_transposed_rows_on_demand_are_computed_once_a_call():
    A, calls = np.random.default_rng(0).standard_normal((60, 4)), []
    rows = KernelRows(A.shape, lambda part: calls.append(len(A[part])) or A[part])
    for use in (
        lambda T: T.gram(),
        lambda T: T.gram(np.ones(4)),
        lambda T: list(T.blocks()),
        lambda T: T @ np.ones(60),
        lambda T: T.row_norms(),
        lambda T: T.column_norms(),
        lambda T: T.largest_entry(),
    ):
        calls.clear()
        use(rows.T)
        assert sum(calls) == 60


def test_as_rows_widens_integers_and_booleans():
    counts = np.full((300, 2), 1, dtype=np.int8)
    for X in (counts, counts.astype(bool), sp.csr_array(counts), sp.csr_array(counts.astype(bool))):
        assert as_rows(X).gram()[0, 1] == 300
    same = as_rows(counts)
    assert as_rows(same) is same


def test_kernel_values_on_disk_leave_nothing_behind_even_when_the_process_is_killed(tmp_path, monkeypatch):
    A = np.random.default_rng(0).standard_normal((20, 3)).astype(np.float32)
    made, folders = tempfile.TemporaryFile, []
    monkeypatch.setattr(tempfile, "TemporaryFile", lambda **where: folders.append(where["dir"]) or made(**where))
    with rarefy.config_context(memory_budget=0, overflow="disk", scratch_folder=tmp_path):
        rows, _ = kernel_rows(values_of(A))
    # The file was made in the scratch folder, and has no name by now, so that nobody has to delete it.
    assert [str(folder) for folder in folders] == [str(tmp_path)]
    assert not list(tmp_path.iterdir())
    np.testing.assert_array_equal(rows @ np.ones(3), A.astype(float) @ np.ones(3))


def test_where_kernel_values_are_kept_follows_budget_and_cost(monkeypatch):
    A = np.ones((100, 10))
    kept = {}
    for name, budget, reserved, cheap in (
        ("all", 8000, 0, True),
        ("less what is reserved", 8000, 1, True),
        ("half", 4000, 0, True),
        ("cheap", 3999, 0, True),
        ("dear", 3999, 0, False),
    ):
        with rarefy.config_context(memory_budget=budget):
            kept[name] = kernel_rows(values_of(A, cheap), reserved)[1].partition(":")[0]
    assert list(kept.values()) == ["float64", "float32", "float32", "recomputed", "on disk"]
    monkeypatch.setattr("shutil.disk_usage", lambda folder: type("Usage", (), {"free": 7999})())
    with rarefy.config_context(memory_budget=3999):
        assert kernel_rows(values_of(A, cheap=False))[1] == "recomputed: 4 kB do not fit memory_budget=4 kB"


@pytest.mark.parametrize("name", FORMS)
def test_deviations_of_columns_are_those_of_the_dense_matrix(name):
    rng = np.random.default_rng(11)
    A = np.round(rng.standard_normal((30, 6)) * 8) / 8 * (rng.random((30, 6)) < 0.5) + np.array([0, 0, 0, 0, 0, 3.0])
    A[:, 1], weight = 1e6 + A[:, 1], rng.uniform(0, 1, 30)
    weight /= weight.sum()
    found, largest = column_deviations(FORMS[name](A), weight)
    mean = weight @ A
    np.testing.assert_allclose(found, np.sqrt(weight @ (A - mean) ** 2), rtol=1e-7)
    np.testing.assert_array_equal(largest, np.abs(A).max(axis=0))


def test_gathered_rows_are_columns_times_numbers():
    A = np.random.default_rng(12).standard_normal((9, 200)) * (np.random.default_rng(13).random((9, 200)) < 0.2)
    index, factors = np.array([4, 0, 7]), np.array([2.0, -1.0, 0.5])
    for block in (1, 1 << 19):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(rows_module, "BLOCK_ENTRIES", block)
            for form in (DenseRows(A), SparseRows(sp.csr_array(A))):
                found = gathered(form, index, factors)
                assert isinstance(found, SparseRows) == (block == 1 and isinstance(form, SparseRows))
                np.testing.assert_allclose(found @ np.eye(3), (A[index] * factors[:, None]).T)


def test_rows_on_demand_take_single_precision_in_products_only():
    rng = np.random.default_rng(0)
    A = rng.random((50, 7))
    calls = []

    def fill(rows, out):
        calls.append(out.dtype)
        out[...] = A[rows]

    rows = KernelRows(A.shape, lambda part: A[part], fill=fill)
    v, u = rng.standard_normal((7, 2)), rng.standard_normal(50)
    single = A.astype(np.float32).astype(np.float64)
    np.testing.assert_allclose(rows @ v, single @ v, rtol=1e-12)
    np.testing.assert_allclose(rows.T @ u, single.T @ u, rtol=1e-12)
    index = np.array([3, 1, 40])
    np.testing.assert_allclose(rows.subset(index).scaled(2.0) @ v, 2.0 * single[index] @ v, rtol=1e-12)
    assert set(calls) == {np.dtype(np.float32)}
    np.testing.assert_array_equal(rows.take(index), A[index])
    np.testing.assert_allclose(rows.gram(), A.T @ A, rtol=1e-12)
