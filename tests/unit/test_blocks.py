"""Folders of blocks: what is written is what is read, and everything else is an error that says what to do."""

import itertools
import json
import os
import threading

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import rarefy
from rarefy import blocks
from rarefy.backends import block_files
from rarefy.backends.read_ahead import read_ahead
from rarefy.certificates._fingerprint import fingerprint
from rarefy.exceptions import BlockError, MemoryBudgetError, ParameterError, RarefyError

RNG = np.random.default_rng(0)
A = RNG.standard_normal((37, 5))
S = sp.random_array((37, 12), density=0.2, format="csr", random_state=RNG)


@pytest.fixture
def folder(tmp_path):
    blocks.from_arrays(tmp_path / "b", A, np.arange(37), block_rows=10, columns=list("abcde"), target_name="q")
    return tmp_path / "b"


@pytest.fixture
def sparse_folder(tmp_path):
    blocks.from_arrays(tmp_path / "s", S, block_rows=10)
    return tmp_path / "s"


def change_manifest(folder, **values):
    path = folder / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


def test_a_folder_gives_back_what_was_written(folder):
    data = blocks.open(folder)
    assert (data.shape, len(data), data.dtype, data.n_blocks) == ((37, 5), 37, np.float64, 4)
    assert (data.columns, data.target_name, data.sparse) == (tuple("abcde"), "q", False)
    np.testing.assert_array_equal(np.vstack(list(data.blocks())), A)
    np.testing.assert_array_equal(data.target, np.arange(37))
    np.testing.assert_array_equal(data.column("b"), A[:, 1])
    np.testing.assert_array_equal(data.column(-1), A[:, 4])
    assert data.fingerprint == fingerprint(A)
    assert "37 rows and 5 columns (dense float64, 4 blocks" in repr(data)
    assert "target 'q'" in repr(data)
    data.check()
    assert sorted(p.name for p in folder.iterdir()) == [
        *(f"00000{i}.npy" for i in range(4)),
        "manifest.json",
        "target.npy",
    ]


def test_sparse_blocks(sparse_folder):
    data = blocks.open(sparse_folder)
    assert data.sparse
    np.testing.assert_array_equal(sp.vstack(list(data.blocks())).toarray(), S.toarray())
    np.testing.assert_array_equal(data.column(3), S.toarray()[:, 3])
    assert data.fingerprint == fingerprint(S)


def test_entries_stored_in_parts_are_added_before_they_are_written(tmp_path):
    parts = sp.csr_array((np.array([3.0, -1.0, 2.0, 1.0]), np.array([1, 1, 0, 1]), np.array([0, 2, 4])), shape=(2, 2))
    data = blocks.from_arrays(tmp_path / "p", parts)
    np.testing.assert_array_equal(data.rows().row_norms(), [2.0, np.hypot(2.0, 1.0)])
    assert parts.nnz == 4


def test_single_precision_is_kept_and_can_be_asked_for(tmp_path):
    assert blocks.from_arrays(tmp_path / "a", A.astype(np.float32)).dtype == np.float32
    asked = blocks.from_arrays(tmp_path / "b", A, dtype="float32")
    np.testing.assert_array_equal(np.vstack(list(asked.blocks())), A.astype(np.float32))
    assert blocks.from_arrays(tmp_path / "c", (A > 0), block_rows=9).dtype == np.float64


def test_arrays_that_come_one_by_one_are_joined_and_cut(tmp_path):
    sizes = np.cumsum([0, 3, 1, 20, 13])
    items = [(A[a:b], np.array([str(i) for i in range(a, b)])) for a, b in itertools.pairwise(sizes)]
    data = blocks.from_arrays(tmp_path / "i", iter(items), block_rows=8)
    assert [len(block) for block in data.blocks()] == [8, 8, 8, 8, 5]
    np.testing.assert_array_equal(np.vstack(list(data.blocks())), A)
    assert data.target.tolist() == [str(i) for i in range(37)]


def test_names_of_a_data_frame_are_kept(tmp_path):
    frame = pd.DataFrame(A, columns=list("vwxyz"))
    assert blocks.from_arrays(tmp_path / "f", frame).columns == tuple("vwxyz")


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_the_smallest_budget_reads_little_at_a_time_and_gives_the_same(kind, tmp_path, monkeypatch):
    monkeypatch.setattr(block_files, "_SMALLEST_READ", 1)
    X = A if kind == "dense" else S
    data = blocks.from_arrays(tmp_path / "d", X, block_rows=20)
    dense = A if kind == "dense" else S.toarray()
    with rarefy.config_context(memory_budget=16 * 8 * 5 * 3):  # three rows of the dense matrix at a time
        sizes = [rows.stop - rows.start for rows, _ in data.rows()._blocks_in_storage()]
        assert sizes == ([3] * 6 + [2] + [3] * 5 + [2] if kind == "dense" else [20, 17])
        np.testing.assert_allclose(data.rows().gram(np.ones(37)), dense.T @ dense, rtol=1e-12, atol=1e-14)


def test_dense_results_over_budget_are_refused(folder):
    rows = blocks.open(folder).rows()
    with rarefy.config_context(memory_budget=2 * 8 * 5 * 36):
        for call in (lambda: rows.take(np.arange(37)), lambda: rows.T.take(np.arange(5)), lambda: rows.T.gram()):
            with pytest.raises(MemoryBudgetError, match=r"memory_budget=2.88e-06 GB. Raise it"):
                call()
        np.testing.assert_array_equal(rows.take(np.arange(36)), A[:36])


def test_means_lengths_and_products_cost_one_pass(folder, monkeypatch):
    rows, passes = blocks.open(folder).rows(), []
    stored = rows._blocks_in_storage
    monkeypatch.setattr(rows, "_blocks_in_storage", lambda index=None: passes.append(1) or stored(index))
    np.testing.assert_allclose(rows.gram(), A.T @ A, rtol=1e-13)
    np.testing.assert_allclose(rows.column_norms(), np.linalg.norm(A, axis=0), rtol=1e-13)
    np.testing.assert_allclose(rows.column_means(), A.mean(axis=0), rtol=1e-12)
    rows.gram()[:] = 0.0  # a copy
    np.testing.assert_allclose(rows.gram(), A.T @ A, rtol=1e-13)
    assert len(passes) == 1


def test_few_rows_are_read_from_their_blocks_only(folder, monkeypatch):
    rows = blocks.open(folder).rows()
    rows.gram()
    opened, real = [], block_files.BlockFiles.opened
    monkeypatch.setattr(
        block_files.BlockFiles, "opened", lambda self, file: opened.append(file.name) or real(self, file)
    )
    np.testing.assert_array_equal(rows.take(np.array([36, 2, 2])), A[[36, 2, 2]])
    assert opened == ["000000.npy", "000003.npy"]


# Damage ----------------------------------------------------------------------------------------------------------


def test_a_changed_byte_is_found_in_the_first_pass(folder):
    path = folder / "000002.npy"
    data = bytearray(path.read_bytes())
    data[-3] ^= 1
    path.write_bytes(data)
    opened = blocks.open(folder)  # sizes are right
    with pytest.raises(BlockError, match=r"000002.npy is damaged: its checksum is .* Write the folder again"):
        opened.rows().gram()
    with pytest.raises(BlockError, match="damaged"):
        opened.check()
    with pytest.raises(BlockError, match="damaged"):
        opened.rows().take(np.array([25]))


@pytest.mark.parametrize("file", [0, 1, 2])
def test_a_changed_byte_of_a_sparse_block_is_found(sparse_folder, file):
    path = sorted(sparse_folder.glob("000001*"))[file]
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    with pytest.raises(BlockError, match=r"Block .* is damaged|Block .* holds an array of shape"):
        blocks.open(sparse_folder).rows().gram()


def test_a_checksum_that_fits_does_not_let_wrong_columns_reach_compiled_code(tmp_path):
    bad = S.copy()
    bad.indices[3] = 1000
    good = blocks.from_arrays(tmp_path / "g", S)
    manifest = json.loads((good.folder / "manifest.json").read_text())
    stored = manifest["blocks"][0]["files"][1]
    path = good.folder / stored["name"]
    np.save(path, bad.indices.astype(np.int32))
    manifest["blocks"][0]["files"][1]["checksum"] = block_files.zlib.crc32(path.read_bytes())
    change_manifest(good.folder, **manifest)
    with pytest.raises(BlockError, match="numbers columns that are not there"):
        blocks.open(good.folder).rows().gram()


def test_cut_and_missing_blocks_are_found_when_the_folder_is_opened(folder):
    path = folder / "000001.npy"
    whole = path.read_bytes()
    path.write_bytes(whole[:-8])
    with pytest.raises(BlockError, match=r"000001.npy has 520 bytes, not 528: it was cut or replaced"):
        blocks.open(folder)
    path.unlink()
    with pytest.raises(BlockError, match=r"000001.npy is gone. Write the folder again"):
        blocks.open(folder)


def test_a_block_that_vanishes_or_changes_later_is_found_in_the_next_pass(folder):
    data = blocks.open(folder)
    data.check()
    path = folder / "000001.npy"
    content = path.read_bytes()
    os.utime(path, ns=(1, 1))
    with pytest.raises(BlockError, match=r"was changed while it was in use. Open the folder again"):
        data.rows().row_norms()
    path.unlink()
    with pytest.raises(BlockError, match="is gone"):
        data.rows().row_norms()
    path.write_bytes(content)
    np.testing.assert_array_equal(blocks.open(folder).rows().take(np.arange(37)), A)


def test_a_disk_that_fails_while_it_is_read(folder, monkeypatch):
    def fails(*args):
        raise OSError(5, "Input/output error")

    data = blocks.open(folder)
    monkeypatch.setattr(block_files.npy, "read_magic", fails)
    with pytest.raises(BlockError, match=r"000000.npy cannot be read \(Input/output error\)"):
        data.rows().gram()
    assert not [t for t in threading.enumerate() if t.name == "rarefy-reader"]


@pytest.mark.parametrize(
    "values",
    [
        {"format": "something"},
        {"version": 2},
        {"shape": [38, 5]},
        {"shape": [37]},
        {"shape": [37.0, 5]},
        {"dtype": "object"},
        {"kind": "csr"},
        {"columns": ["a"]},
        {"blocks": []},
        {"blocks": None},
        {"blocks": [{"n_rows": 37, "files": [{"name": "../000000.npy", "n_bytes": 1, "checksum": 1}]}]},
        {"blocks": [{"n_rows": 37, "files": [{"name": "/etc/passwd", "n_bytes": 1, "checksum": 1}]}]},
        {"blocks": [{"n_rows": 37, "files": [{"name": "..", "n_bytes": 1, "checksum": 1}]}]},
        {"target": {"name": "x/../../target.npy", "n_bytes": 1, "checksum": 1}},
        {"target": {"name": "000000.npy", "n_bytes": 1, "checksum": 1}},
        {"fingerprint": None},
    ],
)
def test_a_manifest_that_was_changed_is_refused(folder, values):
    change_manifest(folder, **values)
    with pytest.raises(BlockError, match=r"is no manifest of blocks \("):
        blocks.open(folder)


def test_a_manifest_that_is_no_json(folder):
    (folder / "manifest.json").write_bytes(b"\xff\x00")
    with pytest.raises(BlockError, match="is no manifest of blocks"):
        blocks.open(folder)


def test_a_block_that_is_a_link_is_refused(folder, tmp_path):
    (folder / "000000.npy").rename(tmp_path / "elsewhere.npy")
    (folder / "000000.npy").symlink_to(tmp_path / "elsewhere.npy")
    with pytest.raises(BlockError, match="is a link"):
        blocks.open(folder)


def test_what_is_no_folder_of_blocks(tmp_path):
    with pytest.raises(BlockError, match="is not a folder"):
        blocks.open(tmp_path / "nothing")
    with pytest.raises(BlockError, match=r"holds no blocks: it has no manifest.json. Check the path"):
        blocks.open(tmp_path)


def test_blocks_of_another_shape_than_the_manifest_says(folder):
    manifest = json.loads((folder / "manifest.json").read_text())
    np.save(folder / "000000.npy", np.zeros((5, 10)))
    stored = manifest["blocks"][0]["files"][0]
    stored["checksum"] = block_files.zlib.crc32((folder / "000000.npy").read_bytes())
    change_manifest(folder, **manifest)
    with pytest.raises(BlockError, match=r"holds an array of shape \(5, 10\) and type float64; the manifest states"):
        blocks.open(folder).rows().gram()


def test_objects_are_never_unpickled(folder):
    manifest = json.loads((folder / "manifest.json").read_text())
    np.save(folder / "target.npy", np.array([{"a": 1}] * 37, dtype=object), allow_pickle=True)
    content = (folder / "target.npy").read_bytes()
    change_manifest(
        folder,
        target={"name": "target.npy", "n_bytes": len(content), "checksum": block_files.zlib.crc32(content)},
        blocks=manifest["blocks"],
    )
    with pytest.raises(BlockError, match="holds no labels"):
        blocks.open(folder).target  # noqa: B018


# Writing ---------------------------------------------------------------------------------------------------------


def pieces(stop=None, value=0.0):
    """Arrays of ten rows; those from `stop` on never come."""
    for i in range(4):
        if i == stop:
            raise KeyboardInterrupt
        yield A[10 * i : 10 * i + 10] + value, np.arange(37)[10 * i : 10 * i + 10]


def test_an_interrupted_conversion_goes_on_where_it_stopped(tmp_path):
    where = tmp_path / "r"
    with pytest.raises(KeyboardInterrupt):
        blocks.from_arrays(where, pieces(3), block_rows=10)
    with pytest.raises(BlockError, match=r"was not written to its end: .* Repeat the same conversion: it goes on"):
        blocks.open(where)
    before = (where / "000000.npy").stat().st_mtime_ns
    with open(where / "unfinished.jsonl", "ab") as journal:  # a line that was cut off
        journal.write(b'{"block": {"n_ro')
    data = blocks.from_arrays(where, pieces(), block_rows=10)
    assert (where / "000000.npy").stat().st_mtime_ns == before
    np.testing.assert_array_equal(np.vstack(list(data.blocks())), A)
    np.testing.assert_array_equal(data.target, np.arange(37))
    assert data.fingerprint == fingerprint(A)
    assert not list(where.glob("*.jsonl"))


def test_another_conversion_does_not_go_on_from_an_unfinished_one(tmp_path):
    where = tmp_path / "r"
    with pytest.raises(KeyboardInterrupt):
        blocks.from_arrays(where, pieces(2), block_rows=10)
    with pytest.raises(BlockError, match="an unfinished conversion of something else, or with other settings"):
        blocks.from_arrays(where, pieces(), block_rows=11)
    with pytest.raises(BlockError, match="an unfinished conversion of other numbers: block 0 is another one"):
        blocks.from_arrays(where, pieces(value=1.0), block_rows=10)


def test_folders_that_hold_something_are_not_written_to(folder, tmp_path):
    with pytest.raises(BlockError, match=r"holds blocks already. Choose another folder"):
        blocks.from_arrays(folder, A)
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "mine.txt").write_text("mine")
    with pytest.raises(BlockError, match="is not empty; blocks need a folder of their own"):
        blocks.from_arrays(tmp_path / "x", A)
    (tmp_path / "file").write_text("")
    with pytest.raises(BlockError, match="cannot be written"):
        blocks.from_arrays(tmp_path / "file", A)


def test_a_full_disk_leaves_what_is_finished_and_says_how_to_go_on(tmp_path, monkeypatch):
    where, real, calls = tmp_path / "full", os.fsync, []

    def full(descriptor):
        calls.append(1)
        if len(calls) == 3:
            raise OSError(28, "No space left on device")
        real(descriptor)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(BlockError, match=r"cannot be written \(No space left on device\). Make room, then repeat the"):
        blocks.from_arrays(where, A, block_rows=10)
    data = blocks.from_arrays(where, A, block_rows=10)
    np.testing.assert_array_equal(np.vstack(list(data.blocks())), A)


@pytest.mark.parametrize("hole", [np.nan, np.inf, 1e300])
def test_values_that_are_no_numbers_are_refused_by_row_and_column(tmp_path, hole):
    X = A.copy()
    X[33, 2] = hole
    with pytest.raises(ParameterError, match=r"Row 33 has no finite number in column 'c', in float32. Fill or leave"):
        blocks.from_arrays(tmp_path / "n", X, block_rows=10, columns=list("abcde"), dtype="float32")
    with pytest.raises(ParameterError, match="Row 33 has no finite number in column 2"):
        blocks.from_arrays(tmp_path / "s", sp.csr_array(X), dtype="float32")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"X": A[0]}, r"matrices of numbers; got an array of shape \(5,\)"),
        ({"X": np.full((3, 2), "a")}, "matrices of numbers"),
        ({"X": A[:0]}, "There are no rows"),
        ({"X": iter([])}, "There are no arrays"),
        ({"X": iter([A, A[:, :3]])}, "All arrays must have as many columns"),
        ({"X": iter([A, S[:, :5]]), "block_rows": 37}, "those before are dense"),
        ({"X": iter([(A, np.ones(37)), A]), "block_rows": 37}, "Some blocks have labels"),
        ({"X": A, "y": np.ones(3)}, "y must have one entry for each of the 37 rows"),
        ({"X": iter([A]), "y": np.ones(37)}, "labels come with each array"),
        ({"X": A, "dtype": "int8"}, "dtype must be 'float32', 'float64' or None"),
        ({"X": A, "columns": ["a"]}, "feature_names must be 5 strings"),
        ({"X": A, "block_rows": 0}, "block_rows"),
    ],
)
def test_what_cannot_be_written(tmp_path, arguments, message):
    with pytest.raises(RarefyError, match=message):
        blocks.from_arrays(tmp_path / "w", **arguments)


def test_a_memory_map_is_written_bit_by_bit(tmp_path):
    np.save(tmp_path / "big.npy", A)
    data = blocks.from_arrays(tmp_path / "m", np.load(tmp_path / "big.npy", mmap_mode="r"), block_rows=7)
    np.testing.assert_array_equal(np.vstack(list(data.blocks())), A)


# Iterators and reading ahead -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: iter([]), "gave none"),
        (lambda: [A, A[:, :2]], r"Block 2 of the iterator has shape \(37, 2\), not \(rows, 5\)"),
        (lambda: [A[0]], "Block 1 of the iterator has shape"),
        (lambda: [(A, np.ones(3))], "37 rows and 3 labels"),
        (lambda: [(A, np.ones(37)), A], "labels with some blocks"),
        (lambda: [np.where(A > 2, np.nan, A)], "holds NaN or infinity"),
    ],
)
def test_iterators_that_give_no_matrix(make, message):
    with pytest.raises(BlockError, match=message):
        blocks.from_iterator(make)


def test_an_iterator_that_gives_other_blocks_later_is_noticed():
    once = iter([A[:20], A[20:]])
    spent = blocks.from_iterator(lambda: once)
    with pytest.raises(BlockError, match=r"gave 0 blocks, and 2 in the first pass. Every call of the function"):
        spent.rows().gram()
    given = [[A[:20], A[20:]], [A[:21], A[21:]]]
    other = blocks.from_iterator(lambda: given.pop(0))
    with pytest.raises(BlockError, match="Block 1 of the iterator was another one in the first pass"):
        other.rows().gram()
    given = [[A[:20]], [A[:20], A[20:]]]
    more = blocks.from_iterator(lambda: given.pop(0))
    with pytest.raises(BlockError, match="Block 2 of the iterator was another one"):
        more.rows().gram()


def test_labels_and_types_of_iterators():
    data = blocks.from_iterator(lambda: [(A[:20] > 0, ["a"] * 20), (A[20:] > 0, ["b"] * 17)], columns=list("abcde"))
    assert (data.dtype, data.shape, data.columns) == (np.float64, (37, 5), tuple("abcde"))
    assert data.target.tolist() == ["a"] * 20 + ["b"] * 17
    assert blocks.from_iterator(lambda: [A.astype(np.float32)]).dtype == np.float32
    assert blocks.from_iterator(lambda: [A.astype(np.float32), A]).dtype == np.float64
    assert "37 rows and 5 columns" in repr(data)


def readers():
    return [t for t in threading.enumerate() if t.name == "rarefy-reader"]


def test_reading_ahead_keeps_the_order_uses_buffers_again_and_ends_its_thread():
    used = []

    def load(task, buffer):
        used.append(id(buffer))
        return task * task

    found = list(read_ahead(range(20), load, [[], []]))
    assert found == [(i, i * i) for i in range(20)]
    assert len(set(used)) == 2
    half = read_ahead(range(20), load, [[], []])
    assert next(half) == (0, 0)
    assert len(readers()) == 1
    half.close()
    assert not readers()


def test_an_error_of_the_reader_is_raised_in_its_turn():
    def load(task, buffer):
        if task == 3:
            raise ValueError("three")
        return task

    seen = []
    reading = read_ahead(range(9), load, [None, None])
    with pytest.raises(ValueError, match="three"):
        seen.extend(task for task, _ in reading)
    assert seen == [0, 1, 2]
    assert not readers()


def test_a_list_of_pairs_is_written_like_their_iterator(tmp_path):
    X, y = np.arange(12.0).reshape(4, 3), np.array([0, 1, 0, 1])
    for i, (one, labels) in enumerate(((X, y), (sp.csr_array(X), y), (X.tolist(), y.tolist()))):
        data = rarefy.blocks.from_arrays(tmp_path / str(i), [(one, labels), (one, labels)])
        assert data.shape == (8, 3)
        np.testing.assert_array_equal(data.target, np.tile(y, 2))
    assert rarefy.blocks.from_arrays(tmp_path / "rows", [(1.0, 2.0), (3.0, 4.0)]).shape == (2, 2)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (None, "Blocks are taken from a function that returns an iterator over them; got None"),
        (np.eye(3), "Blocks are taken from a function that returns an iterator over them; got array"),
        (lambda: 3, "has to return an iterator over them; got 3"),
        (
            lambda: [np.eye(3), np.ones(3)],
            r"Block 2 of the iterator has shape \(3,\) and type float64, and is",
        ),
        (lambda: [None], r"Block 1 of the iterator has shape \(\) and type object"),
        (lambda: [np.eye(3) + 1j], "and type complex128"),
        (lambda: [np.eye(3).astype(str)], "and type <U32"),
        (lambda: [np.eye(3).astype("M8[D]")], r"and type datetime64\[D\]"),
        (lambda: [sp.csr_array(np.eye(3) + 1j)], "and type complex128"),
    ],
)
def test_functions_that_give_no_blocks(make, message):
    with pytest.raises(BlockError, match=message):
        blocks.from_iterator(make)


def test_masked_values_are_no_numbers_in_blocks_either(tmp_path):
    masked = np.ma.MaskedArray(np.eye(3), np.eye(3) > 0)
    with pytest.raises(ParameterError, match="Block 1 of the iterator has masked values"):
        blocks.from_iterator(lambda: [masked])
    with pytest.raises(ParameterError, match="X has masked values"):
        blocks.from_arrays(tmp_path / "a", masked)
    with pytest.raises(ParameterError, match="y has masked values"):
        blocks.from_arrays(tmp_path / "b", np.eye(3), np.ma.MaskedArray([0, 1, 2], [True, False, False]))
    with pytest.raises(ParameterError, match="must be a path; got None"):
        blocks.open(None)
