"""Tables as blocks: the same numbers as the commands make of them, chunk by chunk; and what a chunk may not do."""

import gzip

import numpy as np
import polars as pl
import pytest

from rarefy import blocks
from rarefy.blocks import _tables
from rarefy.exceptions import BlockError, RarefyError, TableError
from rarefy.tables import TableEncoder, _chunks, _text, read_table

N = 400


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    monkeypatch.setattr(_text, "_CHUNK", 1 << 10)
    monkeypatch.setattr(_tables, "BLOCK_BYTES", 2000)


def make_frame(n=N, seed=0):
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "size": np.round(rng.standard_normal(n), 3),
            "count": rng.integers(0, 9, n),
            "leaf": rng.choice(["oak", "elm", "1"], n),
            "old": rng.choice([True, False], n),
            "answer": rng.choice(["yes", "no"], n),
        }
    )


@pytest.fixture
def frame():
    return make_frame()


def expected(path, target="answer", impute=None):
    table, y = read_table(path).split(target)
    encoder = TableEncoder(impute=impute)
    return encoder.fit_transform(table), tuple(encoder.get_feature_names_out()), y


def same(data, path, **options):
    X, names, y = expected(path, **options)
    np.testing.assert_array_equal(np.vstack(list(data.blocks())), X)
    np.testing.assert_array_equal(data.target, y)
    assert data.columns == names
    assert data.n_blocks > 2


def test_csv_becomes_what_the_commands_read(frame, tmp_path):
    frame.write_csv(tmp_path / "t.csv")
    data = blocks.from_csv(tmp_path / "t.csv", tmp_path / "b", target="answer")
    same(data, tmp_path / "t.csv")
    assert (data.target_name, data.dtype) == ("answer", np.float64)
    single = blocks.from_csv(tmp_path / "t.csv", tmp_path / "s", target="answer", dtype="float32")
    np.testing.assert_allclose(single.column("size"), frame["size"].to_numpy(), rtol=1e-6)


@pytest.mark.parametrize("separator", [";", "\t"])
def test_other_delimiters_encodings_and_compression(frame, separator, tmp_path):
    text = frame.with_columns(pl.col("leaf").replace("elm", "Ulme für Ö")).write_csv(separator=separator)
    (tmp_path / "t.csv").write_bytes(text.encode("latin-1"))
    same(blocks.from_csv(tmp_path / "t.csv", tmp_path / "b", target="answer"), tmp_path / "t.csv")
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(text.encode("utf-8")))
    same(blocks.from_csv(tmp_path / "t.csv.gz", tmp_path / "z", target="answer"), tmp_path / "t.csv.gz")


def test_decimal_commas_and_numbers_as_targets(frame, tmp_path):
    text = frame.with_columns(pl.col("size").cast(pl.String).str.replace(r"\.", ",")).write_csv(separator=";")
    (tmp_path / "t.csv").write_text(text)
    same(blocks.from_csv(tmp_path / "t.csv", tmp_path / "b", target="count"), tmp_path / "t.csv", target="count")
    np.testing.assert_array_equal(blocks.open(tmp_path / "b").column("size"), frame["size"].to_numpy())


def test_parquet_and_arrow(frame, tmp_path):
    frame.write_parquet(tmp_path / "t.parquet")
    frame.write_ipc(tmp_path / "t.arrow")
    same(blocks.from_parquet(tmp_path / "t.parquet", tmp_path / "b", target="answer"), tmp_path / "t.parquet")
    same(blocks.from_parquet(tmp_path / "t.arrow", tmp_path / "c", target="answer"), tmp_path / "t.arrow")
    few = blocks.from_parquet(tmp_path / "t.parquet", tmp_path / "d", target="answer", sample_rows=100)
    np.testing.assert_array_equal(np.vstack(list(few.blocks())), expected(tmp_path / "t.parquet")[0])


def test_several_files_become_one_folder(tmp_path):
    parts = [make_frame(150, seed) for seed in range(3)]
    for i, part in enumerate(parts):
        (part if i != 1 else part.select(part.columns[::-1])).write_csv(tmp_path / f"{i}.csv")
    pl.concat(parts).write_csv(tmp_path / "all.csv")
    data = blocks.from_csv([tmp_path / f"{i}.csv" for i in range(3)], tmp_path / "b", target="answer")
    same(data, tmp_path / "all.csv")
    parts[0].drop("old").write_csv(tmp_path / "3.csv")
    with pytest.raises(TableError, match=r"3.csv does not have the columns of .*0.csv: 'old' differs"):
        blocks.from_csv([tmp_path / "0.csv", tmp_path / "3.csv"], tmp_path / "c")


def test_missing_values_are_refused_or_filled_in(frame, tmp_path):
    holes = frame.with_columns(pl.when(pl.col("count") == 3).then(None).otherwise(pl.col("size")).alias("size"))
    holes.write_csv(tmp_path / "t.csv")
    with pytest.raises(TableError, match=r"missing values in 1 column: 'size'"):
        blocks.from_csv(tmp_path / "t.csv", tmp_path / "a", target="answer")
    data = blocks.from_csv(tmp_path / "t.csv", tmp_path / "b", target="answer", impute="median")
    same(data, tmp_path / "t.csv", impute="median")


def test_columns_can_be_left_out_and_row_names_are(frame, tmp_path):
    named = frame.insert_column(0, pl.Series("id", [f"row{i}" for i in range(N)]))
    named.write_csv(tmp_path / "t.csv")
    data = blocks.from_csv(tmp_path / "t.csv", tmp_path / "b", target="answer", drop=["leaf"])
    assert data.columns == ("size", "count", "old")
    with pytest.raises(TableError, match="has no column 'leave'"):
        blocks.from_csv(tmp_path / "t.csv", tmp_path / "c", drop=["leave"])


def test_an_interrupted_conversion_goes_on_in_the_middle_of_a_file(frame, tmp_path, monkeypatch):
    frame.write_csv(tmp_path / "0.csv")
    make_frame(300, 1).write_csv(tmp_path / "1.csv")
    files = [tmp_path / "0.csv", tmp_path / "1.csv"]
    whole = blocks.from_csv(files, tmp_path / "whole", target="answer")
    encode, done = _tables._encoded, []

    def killed(*arguments):
        done.append(1)
        if len(done) == stop:
            raise KeyboardInterrupt
        return encode(*arguments)

    for stop in (1, 3, whole.n_blocks - 1):
        where = tmp_path / f"stopped at {stop}"
        done.clear()
        monkeypatch.setattr(_tables, "_encoded", killed)
        with pytest.raises(KeyboardInterrupt):
            blocks.from_csv(files, where, target="answer")
        monkeypatch.setattr(_tables, "_encoded", lambda *arguments: done.append(1) or encode(*arguments))
        done.clear()
        data = blocks.from_csv(files, where, target="answer")
        assert len(done) == whole.n_blocks - stop + 1
        assert data.fingerprint == whole.fingerprint
        np.testing.assert_array_equal(data.target, whole.target)
    done.clear()
    monkeypatch.setattr(_tables, "_encoded", killed)
    stop = 3
    with pytest.raises(KeyboardInterrupt):
        blocks.from_csv(files, tmp_path / "changed", target="answer")
    make_frame(300, 2).write_csv(tmp_path / "1.csv")
    with pytest.raises(BlockError, match="an unfinished conversion of something else"):
        blocks.from_csv(files, tmp_path / "changed", target="answer")


def late(tmp_path, column, value):
    """A file whose sample does not show what one of its last rows has."""
    frame = make_frame()
    values = frame[column].cast(pl.String).to_list()
    values[390] = value
    frame.with_columns(pl.Series(column, values)).write_csv(tmp_path / "t.csv")
    return tmp_path / "t.csv"


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("leaf", "ash", "column 'leaf' has the value 'ash', which the sample that categories were learned from lacks"),
        ("size", "big", "column 'size' was numbers and is .* the first bad value is 'big'"),
        ("size", "", "missing values in 1 column: 'size'"),
        ("old", "maybe", "column 'old' was true or false and is"),
        ("answer", "", "target 'answer' has 1 missing values, the first in row"),
    ],
)
def test_a_row_that_does_not_follow_the_sample_is_an_error_that_says_where(column, value, message, tmp_path):
    path = late(tmp_path, column, value)
    with pytest.raises(TableError, match=rf"t.csv, rows \d+ to \d+.*{message}"):
        blocks.from_csv(path, tmp_path / "b", target="answer", sample_rows=20, random_state=1)


def test_a_ragged_record_is_found_by_its_line(frame, tmp_path):
    lines = frame.write_csv().splitlines()
    lines[380] += ",1"
    (tmp_path / "t.csv").write_text("\n".join(lines))
    with pytest.raises(TableError, match="line 381 has 6 fields, the others 5"):
        blocks.from_csv(tmp_path / "t.csv", tmp_path / "b", sample_rows=20)


def test_what_is_no_table_to_be_converted(tmp_path):
    np.save(tmp_path / "a.npy", np.eye(3))
    with pytest.raises(TableError, match="is not CSV, Parquet or Arrow, which are converted chunk by chunk"):
        blocks.from_csv(tmp_path / "a.npy", tmp_path / "b")
    with pytest.raises(RarefyError, match="There are no files"):
        blocks.from_csv([], tmp_path / "b")
    with pytest.raises(TableError, match="does not exist"):
        blocks.from_csv(tmp_path / "none.csv", tmp_path / "b")
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 nothing more")
    with pytest.raises(TableError, match="cannot be read as Parquet or Arrow"):
        blocks.from_parquet(tmp_path / "broken.parquet", tmp_path / "b")


def test_chunks_start_where_they_are_told_to(frame, tmp_path):
    frame.write_csv(tmp_path / "t.csv")
    frame.write_parquet(tmp_path / "t.parquet")
    for name in ("t.csv", "t.parquet"):
        file = _chunks.ChunkedFile.of(tmp_path / name)
        kinds = dict(read_table(tmp_path / name).kinds)
        every = list(file.chunks(kinds, 0, 50))
        assert sum(table.n_rows for table, _ in every) == N
        for k, (_, stop) in enumerate(every[:-1], start=1):
            again = list(file.chunks(kinds, stop, 50))
            assert [table.n_rows for table, _ in again] == [table.n_rows for table, _ in every[k:]]
            assert again[0][0].source == every[k][0].source
