"""Zarr arrays as data in blocks: those of other programs, and those that this library writes."""

import numpy as np
import pytest
from click.testing import CliRunner

import rarefy
from rarefy import blocks
from rarefy.cli._app import app
from rarefy.exceptions import BlockError, MemoryBudgetError, ParameterError
from rarefy.selection import BSSSelector

zarr = pytest.importorskip("zarr")

RNG = np.random.default_rng(0)
X = RNG.standard_normal((300, 8)) * np.linspace(0.5, 2.0, 8)
LABELS = np.where(X[:, 0] > 0, "yes", "no")


def foreign(path, A, chunks):
    zarr.create_array(path, data=A, chunks=chunks)
    return blocks.open(path)


@pytest.mark.parametrize("chunks", [(40, 8), (300, 8), (7, 3), (40, 5)], ids=str)
def test_an_array_of_another_program_is_data_in_blocks(tmp_path, chunks):
    data, expected = foreign(tmp_path / "a", X, chunks), BSSSelector(5, rank=3).fit(X)
    assert (data.shape, data.dtype, data.columns, data.target) == ((300, 8), np.float64, None, None)
    found = BSSSelector(5, rank=3).fit(data)
    np.testing.assert_array_equal(found.selection_order_, expected.selection_order_)
    np.testing.assert_allclose(found.weights_, expected.weights_, rtol=1e-8)
    assert found.certificate_.fingerprint == expected.certificate_.fingerprint
    np.testing.assert_array_equal(np.vstack(list(data.blocks())), X)
    np.testing.assert_array_equal(data.rows().stored(np.array([299, 3, 41])), X[[299, 3, 41]])


@pytest.mark.parametrize("dtype", ["float32", "int16", "bool"])
def test_numbers_of_other_types(tmp_path, dtype):
    A = (X * 3).astype(dtype)
    data = foreign(tmp_path / "a", A, (64, 8))
    assert data.dtype == (np.float32 if dtype == "float32" else np.float64)
    np.testing.assert_array_equal(np.vstack(list(data.blocks())), A)


@pytest.mark.parametrize("labels", [LABELS, X[:, 1], (X[:, 0] > 0).astype(np.int64), None], ids=lambda y: str(y)[:12])
def test_what_is_written_comes_back(tmp_path, labels):
    names = [f"x{j}" for j in range(8)]
    folder = blocks.from_arrays(tmp_path / "npy", X, labels, columns=names, target_name="answer", block_rows=64)
    data = folder.write(tmp_path / "z", format="zarr", block_rows=50)
    again = blocks.open(tmp_path / "z")
    assert (again.shape, again.n_blocks, again.columns, again.sparse) == ((300, 8), 6, tuple(names), False)
    assert again.fingerprint == folder.fingerprint == data.fingerprint
    assert (again.target is None) == (labels is None)
    if labels is not None:
        np.testing.assert_array_equal(again.target, labels)
        assert again.target_name == "answer"
    np.testing.assert_array_equal(np.vstack(list(again.blocks())), X)
    back = again.write(tmp_path / "back")
    assert back.fingerprint == folder.fingerprint
    assert sorted(path.name for path in tmp_path.iterdir()) == ["back", "npy", "z"]
    np.testing.assert_array_equal(zarr.open(tmp_path / "z")["X"][:], X)  # any program can read it


def test_what_is_wrong_is_one_sentence(tmp_path):
    A = X.copy()
    A[123, 4] = np.nan
    data = foreign(tmp_path / "nan", A, (40, 8))
    with pytest.raises(BlockError, match="hold NaN or infinity"):
        BSSSelector(5, rank=3).fit(data)
    with pytest.raises(BlockError, match=r"shape \(300,\)"):
        foreign(tmp_path / "line", A[:, 0], (40,))
    zarr.open_group(tmp_path / "group", mode="w")
    with pytest.raises(BlockError, match="group that rarefy did not write"):
        blocks.open(tmp_path / "group")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "zarr.json").write_text("{")
    with pytest.raises(BlockError, match="no Zarr array that can be read"):
        blocks.open(tmp_path / "broken")
    high = foreign(tmp_path / "high", X, (300, 2))
    with rarefy.config_context(memory_budget="20kB"), pytest.raises(MemoryBudgetError, match="chunks of 300 rows"):
        BSSSelector(5, rank=3).fit(high)
    with pytest.raises(ParameterError, match="format must be 'npy' or 'zarr'"):
        high.write(tmp_path / "x", format="hdf")
    with pytest.raises(BlockError, match="is there already"):
        high.write(tmp_path / "nan", format="zarr")


def test_damage_is_noticed(tmp_path):
    data = blocks.from_iterator(lambda: iter([X])).write(tmp_path / "z", format="zarr", block_rows=50)
    chunk = tmp_path / "z" / "X" / "c" / "2" / "0"
    whole = bytearray(chunk.read_bytes())
    whole[40] ^= 1
    chunk.write_bytes(whole)
    with pytest.raises(BlockError, match=r"Rows 0 to 299 of .* cannot be read"):
        BSSSelector(5, rank=3).fit(data)
    chunk.unlink()
    with pytest.raises(BlockError, match="lacks chunks: 5 of 6"):
        blocks.open(tmp_path / "z")


def test_a_write_that_fails_leaves_nothing(tmp_path):
    def blocks_that_end():
        yield X[:100]
        yield X[100:] if first else np.full((200, 8), np.nan)

    first = True
    data = blocks.from_iterator(blocks_that_end)
    first = False
    with pytest.raises(BlockError, match="NaN"):
        data.write(tmp_path / "z", format="zarr")
    assert not list(tmp_path.iterdir())


def test_commands_on_zarr(tmp_path):
    def run(*arguments, code=0):
        result = CliRunner().invoke(app, [str(a) for a in arguments])
        assert result.exit_code == code, result.output + result.stderr + repr(result.exception)
        return result

    names = ",".join(f"x{j}" for j in range(8))
    rows = "\n".join(",".join(f"{v:.6g}" for v in row) + f",{label}" for row, label in zip(X, LABELS, strict=True))
    (tmp_path / "t.csv").write_text(f"{names},answer\n{rows}\n")
    shown = run("convert", tmp_path / "t.csv", "--out", tmp_path / "z", "--target", "answer", "--format", "zarr").stdout
    assert 'format="zarr")' in shown
    run("convert", tmp_path / "z", "--out", tmp_path / "npy")
    run("convert", tmp_path / "npy", "--out", tmp_path / "z2", "--format", "zarr")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["npy", "t.csv", "z", "z2"]
    assert len({blocks.open(tmp_path / name).fingerprint for name in ("z", "npy", "z2")}) == 1
    assert blocks.open(tmp_path / "z2").encoder.get_feature_names_out().tolist() == names.split(",")
    run("select", tmp_path / "z", "--target", "answer", "--keep", 3, "--certificate", tmp_path / "c.json")
    for file in ("z", "npy", "t.csv"):
        assert run("verify", tmp_path / "c.json", tmp_path / file).stdout.startswith("Verified.")
    run("convert", tmp_path / "npy", "--out", tmp_path / "new.blocks")  # as if it was killed before the last step
    for arguments, words in (
        (("convert", tmp_path / "npy", "--out", tmp_path / "z", "--format", "zarr"), "is there already"),
        (("convert", tmp_path / "t.csv", "--out", tmp_path / "new", "--format", "zarr"), "that was interrupted"),
        (("convert", tmp_path / "npy", "--out", tmp_path / "y", "--drop", "x0"), "as it is, without --drop"),
    ):
        assert words in run(*arguments, code=2).stderr
