"""Malformed files: each ends in a TableError of one line or in a valid table, and in nothing else."""

import gzip
import io
import os
import re
import struct
import zipfile

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.io import mmwrite

from rarefy.exceptions import RarefyWarning, TableError
from rarefy.tables import Table, TableEncoder, read_table

QUICK = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])


def outcome(path):
    """What reading gives: "table", or the message of the error, which must be one line."""
    try:
        table = read_table(path)
    except TableError as error:
        message = str(error)
    else:
        assert_valid(table)
        return "table"
    assert message.isprintable(), message
    assert len(message) < 1500
    return message


def assert_valid(table):
    assert isinstance(table, Table)
    assert table.n_rows > 0
    assert len(set(table.names)) == len(table.names) == len(table.kinds) > 0
    for name, column in (table.columns or {}).items():
        assert column.shape == (table.n_rows,)
        if table.kinds[name] in ("number", "boolean"):
            assert column.dtype == np.float64
        else:
            assert all(value is None or isinstance(value, str) for value in column)
    if table.matrix is not None:
        assert table.matrix.shape == (table.n_rows, len(table.names))
        assert table.matrix.dtype in (np.float32, np.float64)
    assert all(note.isprintable() and note.endswith(".") for note in table.notes)
    if table.matrix is None and len(table.names) < 200:
        try:
            X, message = TableEncoder(impute="median").fit_transform(table), ""
        except TableError as error:
            X, message = np.zeros(0), str(error)
        assert np.all(np.isfinite(X))
        assert message.isprintable()


def written(write, *args, **kwargs):
    buffer = io.BytesIO()
    write(buffer, *args, **kwargs)
    return buffer.getvalue()


def npy_header(descr, shape, version=b"\x01\x00", extra=b""):
    header = f"{{'descr': {descr!r}, 'fortran_order': False, 'shape': {shape!r}, }}\n".encode()
    length = struct.pack("<H" if version == b"\x01\x00" else "<I", len(header))
    return b"\x93NUMPY" + version + length + header + extra


def zipped(**members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content if isinstance(content, bytes) else written(np.save, content))
    return buffer.getvalue()


def sparse_parts(**changes):
    parts = {
        "data": np.ones(3), "indices": np.array([0, 1, 2]), "indptr": np.array([0, 1, 2, 3]),
        "shape": np.array([3, 3]), "format": np.array(b"csr"),
    }  # fmt: skip
    return zipped(**(parts | changes))


def zstd_frame(blocks):
    return b"\x28\xb5\x2f\xfd\x00\x58" + blocks


def zstd_block(content):
    """The last block of a frame, not compressed."""
    return struct.pack("<I", (len(content) << 3) | 1)[:3] + content


FRAME = pl.DataFrame({"a": [1.5, 2.5, 3.5, 4.5], "b": ["x", "y", "x", "y"], "c": [True, False, True, None]})
CSV = b"a,b,c\n1.5,x,true\n2.5,y,false\n3.5,x,true\n4.5,y,\n"
MATRIX = sp.csr_array(np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0], [4.0, 0.0, 5.0]]))
GOOD = {
    "good.csv": CSV,
    "good.tsv": CSV.replace(b",", b"\t"),
    "quoted.csv": b'"a","b"\n"1","x, ""y""\nz"\n"2","w"\n"3","w"\n',
    "good.csv.zst": zstd_frame(zstd_block(CSV)),
    "good.csv.gz": gzip.compress(CSV),
    "good.parquet": written(lambda f: FRAME.write_parquet(f)),
    "good.arrow": written(lambda f: FRAME.write_ipc(f)),
    "good.svm": b"1 1:0.5 3:2\n-1 2:1\n1 1:3\n",
    "good.mtx": written(mmwrite, MATRIX),
    "good.mtx.gz": gzip.compress(written(mmwrite, MATRIX)),
    "good.npy": written(np.save, MATRIX.toarray()),
    "good.npz": zipped(X=MATRIX.toarray(), y=np.array([0, 1, 0]), names=np.array(["a", "b", "c"])),
    "sparse.npz": written(sp.save_npz, MATRIX),
}
MATRIX_MARKET = b"%%MatrixMarket matrix coordinate real general\n"
BAD = {
    # text
    "empty.csv": (b"", "is empty"),
    "blank.csv": (b"\n\n  \n\n", "blank lines only"),
    "header.csv": (b"a,b,c\n", "only a line of names"),
    "header_blank.csv": (b"a,b,c\n\n\n", "only a line of names"),
    "long_line.csv": (b"a,b\n1,2\n3,4,5\n6,7\n", "line 3 has 3 fields, the others 2"),
    "short_line.csv": (b"a,b,c\n1,2,3\n4,5\n6,7,8\n", "line 3 has 2 fields, the others 3"),
    "both.csv": (b"a,b,c\n1,2,3\n4,5\n6,7,8,9\n1,2,3\n", "line 3 has 2 fields"),
    "balanced.csv": (b"1,2,3\n" * 500 + b"4,5\n6,7,8,9\n1,2,3\n", "line 501 has 2 fields, the others 3"),
    "quoted_ragged.csv": (b'a,b\n"1\n1",2\n3,4\n"5",6,7\n8,9\n', "line 5 has 3 fields"),
    "title.csv": (b"My table\na,b,c\n1,2,3\n4,5,6\n", "line 1 has 1 field, the others 3"),
    "nul.csv": (b"a,b\n1,2\n3,\0\n", "NUL byte in line 3"),
    "open_quote.csv": (b'a,b\n1,"x\n2,y\n', "is never closed"),
    "garbage.csv": (bytes(range(256)) * 40, "NUL byte|not text"),
    "noise.csv": (np.random.default_rng(0).bytes(5000), "NUL byte|not text"),
    "control.csv": (b"\x01\x02\x03\x04" * 100, "not text"),
    "utf16_cut.csv": ("a,b\n1,2\n".encode("utf-16") + b"\x31", "not valid UTF-16"),
    "utf16_bad.csv": (b"\xff\xfea\x00,\x00\x00\xd8\x00\xd8\n\x00", "not valid UTF-16"),
    "bom_bad.csv": (b"\xef\xbb\xbfa,b\n\xff,1\n", "not valid UTF-8"),
    # disguises
    "excel.csv": (zipped(sheet=b"1").replace(b".npy", b".xml"), "ZIP archive or an Excel"),
    "book.xls": (b"\xd0\xcf\x11\xe0" + b"\0" * 600, "old Excel"),
    "model.pkl": (b"\x80\x04\x95" + b"\0" * 50, "pickle, which is never opened"),
    "page.csv": (b"%PDF-1.7 \n", "PDF"),
    "text.parquet": (CSV, r"ends in \.parquet and is not Parquet"),
    "text.npz": (CSV, r"ends in \.npz and is not"),
    "text.npy": (CSV, r"ends in \.npy and is not"),
    "text.feather": (CSV, r"ends in \.feather and is not"),
    "text.mtx": (CSV, r"ends in \.mtx and is not"),
    "array.npy.gz": (gzip.compress(GOOD["good.npy"]), "decompress it first"),
    "cut.csv.gz": (gzip.compress(CSV * 50)[:-20], "cannot be read|truncated"),
    "damaged.csv.gz": (gzip.compress(CSV)[:20] + b"\xff" * 30, "cannot be read|decompression"),
    "nothing.csv.gz": (gzip.compress(b""), "holds nothing after decompression"),
    "bomb.csv.gz": (gzip.compress(b"0" * 1000)[:-4] + struct.pack("<I", 2 * 10**9), "states 2000000000 after"),
    "bad.csv.zst": (b"\x28\xb5\x2f\xfd\x04\x00", "truncated"),
    # Blocks of 128 kB of one repeated byte: 4 bytes each.
    "bomb.csv.zst": (zstd_frame(b"\x02\x00\x100" * 900 + zstd_block(b"1\n")), "holds more than 100000000 after"),
    "mixed.csv.zst": (zstd_frame(zstd_block(CSV)) + b"rubbish", "other than zstd frames"),
    "nonsense.csv.zst": (zstd_frame(struct.pack("<I", (9 << 3) | 5)[:3] + b"\xff" * 9), "cannot be decompressed"),
    # parquet and arrow
    "cut.parquet": (GOOD["good.parquet"][:-30], "cannot be read as Parquet"),
    "stub.parquet": (b"PAR1", "cannot be read as Parquet"),
    "rows0.parquet": (written(lambda f: FRAME.head(0).write_parquet(f)), "has 0 rows"),
    "columns0.parquet": (written(lambda f: pl.DataFrame().write_parquet(f)), "0 columns|cannot be read"),
    "cut.arrow": (GOOD["good.arrow"][:-30], "cannot be read as Arrow"),
    "stub.arrow": (b"ARROW1\0\0", "cannot be read as Arrow"),
    # arrays
    "objects.npy": (written(np.save, np.array([[{}]]), allow_pickle=True), "never unpickled"),
    "objects.npz": (zipped(X=written(np.save, np.array([[None]]), allow_pickle=True)), "never unpickled"),
    "huge.npy": (npy_header("<f8", (10**9, 10**9)), "too short"),
    "negative.npy": (npy_header("<f8", (-1, 5)), "header|too short"),
    "wide.npy": (npy_header("<f8", (0, 10**12)), "columns"),
    "cut.npy": (GOOD["good.npy"][:-8], "too short for it"),
    "version.npy": (b"\x93NUMPY\x09\x00" + b"\0" * 90, "header"),
    "header.npy": (npy_header("<f8", (2, 2)).replace(b"descr", b"dexcr"), "header"),
    "code.npy": (npy_header("<f8", (2, 2)).replace(b"(2, 2)", b"exit()"), "header"),
    "complex.npy": (written(np.save, np.eye(2) * 1j), "numbers are needed"),
    "strings.npy": (written(np.save, np.array([["a"]])), "numbers are needed"),
    "dates.npy": (written(np.save, np.array([["2020-01-01"]], dtype="M8[D]")), "numbers are needed"),
    "records.npy": (written(np.save, np.array([(1, 2)], dtype=[("a", int), ("b", int)])), "numbers are needed"),
    "vector.npy": (written(np.save, np.arange(3)), "1 dimension"),
    "scalar.npy": (written(np.save, np.float64(3)), "0 dimensions"),
    "cube.npy": (written(np.save, np.ones((2, 2, 2))), "3 dimensions"),
    "norows.npy": (written(np.save, np.ones((0, 2))), "0 rows"),
    "others.npz": (zipped(A=np.eye(2), B=np.eye(2)), "holds the arrays 'A', 'B'"),
    "none.npz": (zipped(), "without arrays|is not"),
    "labels.npz": (zipped(X=np.eye(3), y=np.arange(2)), "target of shape"),
    "names.npz": (zipped(X=np.eye(3), names=np.array(["a"])), "3 columns and 1 name"),
    "numbers_as_names.npz": (zipped(X=np.eye(2), names=np.arange(2)), "names must be a list of strings"),
    "lying.npz": (zipped(X=npy_header("<f8", (10**6, 10**6))), "too short"),
    "cut.npz": (GOOD["good.npz"][:-40], "cannot be read|is not"),
    "indices.npz": (sparse_parts(indices=np.array([0, 1, 99])), "cannot be read"),
    "below.npz": (sparse_parts(indices=np.array([0, -1, 2])), "cannot be read"),
    "indptr.npz": (sparse_parts(indptr=np.array([0, 3, 1, 3])), "cannot be read"),
    "indptr_long.npz": (sparse_parts(indptr=np.array([0, 1, 2, 900])), "cannot be read"),
    "shape.npz": (sparse_parts(shape=np.array([10**12, 10**12])), "columns|rows"),
    "csc_shape.npz": (sparse_parts(shape=np.array([10**12, 3]), format=np.array(b"csc")), "rows for 3 entries"),
    "negative_shape.npz": (sparse_parts(shape=np.array([-3, 3])), "damaged"),
    "cube.npz": (sparse_parts(shape=np.array([1, 2, 3])), "two dimensions"),
    "bsr.npz": (sparse_parts(format=np.array(b"bsr")), "csr, csc"),
    "floats.npz": (sparse_parts(indices=np.ones(3)), "not lists of integers"),
    "complex.npz": (sparse_parts(data=np.ones(3) * 1j), "numbers are needed"),
    # libsvm and MatrixMarket
    "words.svm": (b"no numbers here\n", "cannot be read as libsvm"),
    "negative.svm": (b"1 -1:2\n", "cannot be read as libsvm"),
    "unsorted.svm": (b"1 3:2 1:1\n", "cannot be read as libsvm"),
    "huge.svm": (b"1 999999999:2\n", "columns"),
    "overflow.svm": (b"1 99999999999999999999999999:2\n", "cannot be read as libsvm|columns"),
    "nothing.svm": (b"1\n-1\n", "0 columns|it needs one"),
    "comment.svm": (b"# only a comment\n", "cannot be read|0 rows"),
    "huge.mtx": (MATRIX_MARKET + b"1000000000 3 1\n1 1 1\n", "rows for 1 entries"),
    "wide.mtx": (MATRIX_MARKET + b"3 100000000000 1\n1 1 1\n", "columns"),
    "many.mtx": (MATRIX_MARKET + b"3 3 99999999999\n1 1 1\n", "truncated or damaged"),
    "array.mtx": (MATRIX_MARKET.replace(b"coordinate", b"array") + b"99999 99999\n1\n", "truncated or damaged"),
    "complex.mtx": (MATRIX_MARKET.replace(b"real", b"complex") + b"1 1 1\n1 1 1 1\n", "of type 'complex general'"),
    "vector.mtx": (MATRIX_MARKET.replace(b"matrix", b"vector") + b"1 1\n", "begins with"),
    "nosize.mtx": (MATRIX_MARKET, "no line with its numbers"),
    "words.mtx": (MATRIX_MARKET + b"three three one\n", "no line with its numbers"),
    "outside.mtx": (MATRIX_MARKET + b"3 3 1\n9 9 1\n", "index 9, outside of 1 to 3"),
    "cut.mtx": (MATRIX_MARKET + b"3 3 5\n1 1 1\n", "states 5 entries and has 1"),
    "short.mtx": (MATRIX_MARKET + b"3 3 2\n1 1 1\n1 2\n", "fewer than 3 numbers|cannot be read"),
    # scipy 1.17 crashes on this one
    "crash.mtx": (MATRIX_MARKET + b"%\n3 3 8\n1 1 1\n1 3 2\n2 2 3\n3 1 4\xa03 3 5\x8a", "states 8 entries and has 4"),
    "oblong.mtx": (MATRIX_MARKET.replace(b"general", b"symmetric") + b"3 2 1\n1 1 1\n", "is called symmetric"),
    "digits.mtx": (MATRIX_MARKET + b"9" * 400 + b" 1 1\n1 1 1\n", "no line with its numbers"),
}


@pytest.mark.parametrize("name", GOOD)
def test_the_undamaged_files_are_tables(name, tmp_path):
    path = tmp_path / name
    path.write_bytes(GOOD[name])
    assert outcome(path) == "table"


@pytest.mark.parametrize("name", BAD)
def test_a_malformed_file_is_refused_with_its_name_and_the_reason(name, tmp_path):
    content, reason = BAD[name]
    path = tmp_path / name
    path.write_bytes(content)
    message = outcome(path)
    assert name in message
    assert re.search(reason, message), message


@pytest.mark.parametrize("name", GOOD)
def test_no_damage_escapes_the_readers(name, tmp_path):
    """Truncations, flipped bytes, and pieces of the file cut out, doubled and overwritten."""
    good, rng = GOOD[name], np.random.default_rng(len(name))
    path = tmp_path / name
    # A process of its own tries to read these: damaged ones have been seen to abort polars.
    every = 12 if name.endswith((".parquet", ".arrow")) else 1
    damaged = [good[: int(n)] for n in rng.integers(0, len(good), 12)]
    for _ in range(24):
        piece = bytearray(good)
        for position in rng.integers(0, len(good), rng.integers(1, 5)):
            piece[position] = rng.integers(256)
        damaged.append(bytes(piece))
    for _ in range(8):
        a, b = sorted(rng.integers(0, len(good), 2).tolist())
        damaged += [good[:a] + good[b:], good[:b] + good[a:], good[:a] + b"\xff" * (b - a) + good[b:]]
    for content in damaged[::every]:
        path.write_bytes(content)
        outcome(path)


CELLS = st.one_of(
    st.sampled_from(
        ["", "NA", "1", "-2.5", "1e308", "1e999", "inf", "nan", "true", "2020-01-01", "1,5", "é", "😀", '"', "0x1"]
    ),
    st.text(max_size=6),
)


@QUICK
@given(
    rows=st.lists(st.lists(CELLS, min_size=1, max_size=5), min_size=1, max_size=8),
    delimiter=st.sampled_from([",", ";", "\t", "|", " "]),
    ending=st.sampled_from(["\n", "\r\n", "\r"]),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "latin-1"]),
)
def test_any_lines_of_cells_give_a_table_or_one_line(tmp_path, rows, delimiter, ending, encoding):
    text = ending.join(delimiter.join(row) for row in rows)
    path = tmp_path / "cells.csv"
    path.write_bytes(text.encode(encoding, "replace"))
    outcome(path)


@QUICK
@given(
    content=st.binary(max_size=200), ending=st.sampled_from(["csv", "svm", "mtx", "npz", "npy", "txt", "parquet", "gz"])
)
def test_any_bytes_give_a_table_or_one_line(tmp_path, content, ending):
    path = tmp_path / f"bytes.{ending}"
    path.write_bytes(content)
    outcome(path)


@QUICK
@given(
    lines=st.lists(st.text(alphabet="0123456789:.- \te#qid", max_size=20), max_size=6),
    start=st.sampled_from([b"", MATRIX_MARKET, MATRIX_MARKET + b"3 3 2\n"]),
)
def test_any_numbers_give_a_matrix_or_one_line(tmp_path, lines, start):
    path = tmp_path / ("numbers.mtx" if start else "numbers.svm")
    path.write_bytes(start + "\n".join(lines).encode())
    outcome(path)


@QUICK
@given(
    values=st.lists(
        st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5), st.dates()),
        min_size=1,
        max_size=9,
    )
)
def test_any_objects_in_a_frame_give_a_table(values):
    pandas = pytest.importorskip("pandas")
    assert_valid(Table.from_frame(pandas.DataFrame({"a": pandas.Series(values, dtype=object)})))


@pytest.mark.skipif(os.name == "nt", reason="pipes, devices and permissions of Unix")
def test_only_regular_files_are_opened(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "loop.csv").symlink_to(tmp_path / "loop.csv")
    (tmp_path / "dangling.csv").symlink_to(tmp_path / "nowhere")
    for path, reason in (
        (tmp_path / "pipe.csv", "is a named pipe; files, folders of texts and - for standard input"),
        ("/dev/zero", "is a device"),
        (tmp_path / "loop.csv", "cannot be opened|cannot be read"),
        (tmp_path / "dangling.csv", "does not exist"),
        (tmp_path / "no" / "file.csv", "does not exist"),
        ("a\0b.csv", "cannot be opened|cannot be read"),
        ("x" * 5000, "cannot be opened|cannot be read"),
        (tmp_path / "line\nbreak.csv", r"line\\nbreak.csv does not exist"),
    ):
        with pytest.raises(TableError, match=reason) as caught:
            read_table(path)
        assert str(caught.value).isprintable()


def test_a_file_without_permission_is_named(tmp_path, monkeypatch):
    path = tmp_path / "secret.csv"
    path.write_bytes(CSV)

    def refuse(*args, **kwargs):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("builtins.open", refuse)  # root may read everything, whatever the mode says
    with pytest.raises(TableError, match=r"secret\.csv may not be read"):
        read_table(path)


def test_ten_thousand_columns_with_spaces_and_emoji(tmp_path):
    path = tmp_path / "wide.csv"
    names = [f"gène {i} 😀" for i in range(9_998)] + ["twice", "twice"]
    path.write_text(",".join(names) + "\n" + "\n".join(",".join("1" * 10_000) for _ in range(3)), encoding="utf-8")
    table = read_table(path)
    assert (table.n_rows, len(table.names), table.names[-2:]) == (3, 10_000, ("twice", "twice_2"))
    assert any("renamed" in note for note in table.notes)


def test_numbers_beyond_double_precision_are_refused_by_the_encoder(tmp_path):
    path = tmp_path / "large.csv"
    path.write_text("a,b\n1e308,1\n1e309,2\n-1e308,3\n")
    table = read_table(path)
    np.testing.assert_array_equal(table.columns["a"], [1e308, np.inf, -1e308])
    with pytest.raises(TableError, match=r"large\.csv has infinite numbers.* in 'a'"):
        TableEncoder().fit(table)


@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_numbers_whose_squares_overflow_are_refused_by_the_encoder(form):
    X = np.eye(3)
    X[1, 1] = -1e200
    table = Table.from_arrays(X if form == "dense" else sp.csr_array(X), ["a", "b", "c"])
    with pytest.raises(TableError, match=r"numbers beyond 1e\+150, whose squares .* in 'b'\. Correct them"):
        TableEncoder().fit(table)
    with pytest.raises(TableError, match="in 'a'"):
        TableEncoder().fit(Table.from_frame(pl.DataFrame({"a": [1e151, 2.0], "b": [1.0, 3.0]})))


def test_a_bad_value_among_numbers_is_named(tmp_path):
    path = tmp_path / "mixed.csv"
    path.write_text("a,b\n" + "".join(f"{i}.5,{i}\n" for i in range(40)) + "oops,7\n")
    table = read_table(path)
    assert table.kinds["a"] == "text"
    assert any("1 value of 41 cannot be read as numbers, the first is 'oops' in row 41" in note for note in table.notes)
    with pytest.raises(TableError, match=r"mixed\.csv.*'a' is text because .*'oops' in row 41; correct.*--drop 'a'"):
        TableEncoder().fit(table)


@pytest.mark.filterwarnings("error")
@QUICK
@given(order=st.permutations(range(4)), extra=st.booleans())
def test_encoding_does_not_depend_on_the_order_of_columns(order, extra):
    frame = pl.DataFrame({"a": [1.0, 2.0, 3.0], "b": ["x", "y", "x"], "c": [True, False, True], "d": ["p", "q", "p"]})
    encoder = TableEncoder().fit(frame)
    other = frame.select([frame.columns[i] for i in order])
    if extra:
        with pytest.warns(RarefyWarning, match="1 column too many, ignored: 'e'"):
            found = encoder.transform(other.with_columns(e=1))
    else:
        found = encoder.transform(other)
    np.testing.assert_array_equal(found, encoder.transform(frame))
