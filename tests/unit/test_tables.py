"""Tables from files and frames, and their encoding."""

import gzip
import io
import json
import sys
from dataclasses import FrozenInstanceError

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from scipy.io import mmread, mmwrite
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from rarefy.exceptions import MissingExtraError, ParameterError, RarefyWarning, TableError
from rarefy.tables import Table, TableEncoder, read_table
from rarefy.tables._csv import _head
from rarefy.tables._source import Source


@pytest.fixture
def table_of(tmp_path):
    """Read a table from text or bytes."""

    def read(content, name="data.csv", **options):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return read_table(path, **options)

    return read


def values(table):
    return {name: column.tolist() for name, column in table.columns.items()}


# CSV


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|", " ", "   "])
@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_delimiters_and_line_ends_are_recognised(table_of, delimiter, ending):
    lines = ["a", "b", "c"], ["1", "2.5", "-3"], ["4", "1e3", ".5"], ["7", "8", "9"]
    table = table_of(ending.join(delimiter.join(line) for line in lines))
    assert values(table) == {"a": [1, 4, 7], "b": [2.5, 1000, 8], "c": [-3, 0.5, 9]}
    assert set(table.kinds.values()) == {"number"}


@pytest.mark.parametrize(
    ("encoding", "note"),
    [
        ("utf-8", None),
        ("utf-8-sig", "encoded in UTF-8 with a byte order mark"),
        ("utf-16", "encoded in UTF-16"),
        ("utf-16-le", "encoded in UTF-16-LE"),
        ("utf-16-be", "encoded in UTF-16-BE"),
        ("latin-1", "encoded in Latin-1, because it is not UTF-8"),
    ],
)
def test_encodings_are_recognised(table_of, encoding, note):
    table = table_of("größe,stadt\n1,Zürich\n2,Genève\n3,Zürich\n4,Genève\n".encode(encoding))
    assert values(table) == {"größe": [1, 2, 3, 4], "stadt": ["Zürich", "Genève"] * 2}
    assert [line for line in table.notes if "encoded" in line] == ([] if note is None else [f"The file is {note}."])


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a,b\n1,2\n3,4\n", ("a", "b")),
        ("1,2\n3,4\n", ("column 1", "column 2")),
        ("p,x,s\ne,x,y\np,b,s\ne,x,y\n", ("column 1", "column 2", "column 3")),  # values recur: no names
        ("kind,form\ne,x\np,b\ne,x\n", ("kind", "form")),
        ("id,1,2\ns1,0.5,0.25\ns2,1.5,7\n", ("column 1", "column 2", "column 3")),
        ("gene,s1,2\nx,0.5,0.25\ny,1.5,7\n", ("gene", "s1", "2")),
        (",a\n0,5\n1,6\n", ("column 1", "a")),
        ("a;b\n1,5;x\n2,5;y\n", ("a", "b")),
        ('"a","b"\nr1,1,2\nr2,3,4\n', ("column 1", "a", "b")),  # row names without a name, as R writes them
        ("a,b\n1,2,\n3,4,\n", ("a", "b", "column 3")),  # delimiters at the end of lines
        ("a, a ,a,\n1,2,3,4\n", ("a", "a_2", "a_3", "column 4")),
        ("a,a_2,a\n1,2,3\n", ("a", "a_2", "a_3")),
        ("just one\n1\n2\n", ("just one",)),
        ("1,2\n", ("column 1", "column 2")),
    ],
)
def test_names_of_columns(table_of, text, names):
    assert table_of(text).names == names


def test_a_missing_line_of_names_and_renamed_columns_are_noted(table_of):
    assert "The first line holds data: columns are called 'column 1', 'column 2'." in table_of("1,2\n3,4\n").notes
    renamed = "Columns were renamed because their names occur twice: 'a' is 'a_2'."
    assert renamed in table_of("a,a\n1,2\n3,4\n").notes
    assert "Columns without a name are called 'column 1'." in table_of(",a\n0,5\n1,6\n").notes


def test_kinds_of_strings(table_of):
    rows = [
        (f"{i}", "NA" if i == 3 else "yes" if i % 2 else "no", "TRUE" if i % 2 else "False", f"2020-01-{i + 1:02}",
         f"word {i}", f"{i},5", "?" if i == 0 else "7", "same")
        for i in range(20)
    ]  # fmt: skip
    header = "number;answer;flag;day;id;comma;gap;same\n"
    table = table_of(header + "\n".join(";".join(row) for row in rows))
    kinds = ["number", "category", "boolean", "date", "text", "number", "number", "category"]
    assert list(table.kinds.values()) == kinds
    assert table.columns["answer"][:4].tolist() == ["no", "yes", "no", None]
    assert table.columns["flag"][:3].tolist() == [0.0, 1.0, 0.0]
    assert table.columns["day"][1] == "2020-01-02"
    np.testing.assert_array_equal(table.columns["comma"], np.arange(20) + 0.5)
    np.testing.assert_array_equal(table.columns["gap"], [np.nan] + [7] * 19)
    assert {"The delimiter is a semicolon.", "Numbers are written with a decimal comma."} <= set(table.notes)
    assert "Column 'same' is constant." in table.notes


def test_a_decimal_comma_in_quotes_is_read_and_a_comma_of_thousands_is_not_guessed(table_of):
    table = table_of('a,b\n"1,5","1,234"\n"2,25","5,678"\n"3","1,234"\n"4","5,678"\n')
    assert values(table) == {"a": [1.5, 2.25, 3, 4], "b": ["1,234", "5,678"] * 2}
    assert "Column 'a' is written with a decimal comma and read as numbers." in table.notes
    assert any("'1,234' may have a decimal comma or a comma of thousands" in note for note in table.notes)


def test_few_strings_are_categories_and_many_are_text(table_of):
    def kind(strings):
        return table_of("n,s\n" + "".join(f"{i},{s}\n" for i, s in enumerate(strings))).kinds["s"]

    assert kind([f"c{i % 50}" for i in range(200)]) == "category"
    assert kind([f"c{i % 51}" for i in range(200)]) == "text"
    assert kind([f"c{i % 6}" for i in range(10)]) == "text"  # more than half as many as rows
    assert kind(["x", "y", "x"]) == "category"
    assert kind(["x", "y"]) == "text"  # an id
    assert kind(["1", "2", "3", "4+"] * 5) == "category"


def test_quotes_hold_delimiters_line_breaks_and_quotes(table_of):
    table = table_of('n,s\n1,"x, ""y""\nz"\n2,w\n3, "w"\n4,"x, ""y""\nz"\n')
    assert values(table) == {"n": [1, 2, 3, 4], "s": ['x, "y"\nz', "w", "w", 'x, "y"\nz']}


def test_blank_lines_are_skipped(table_of):
    assert values(table_of("\n\na,b\n\n1,2\n\n\n3,4\n\n")) == {"a": [1, 3], "b": [2, 4]}
    assert values(table_of("a\n\n1\n\n3\n\n")) == {"a": [1, 3]}


def test_a_string_after_many_numbers_keeps_the_spelling_of_all(table_of):
    table = table_of("a,b\n" + "007,1\n008,2\n" * 3000 + "x,3\n")
    assert table.columns["a"][[0, 1, -1]].tolist() == ["007", "008", "x"]
    assert table.kinds["a"] == "category"


def test_blocks_are_joined(table_of, monkeypatch):
    lines = [f'{i},"{"x" * (i % 7)},\n{i % 3}",{i / 8}' for i in range(300)]
    text = "a,b,c\n" + "\n".join(lines)
    whole = table_of(text)
    for size in (7, 64, 1000):
        monkeypatch.setattr("rarefy.tables._text._CHUNK", size)
        pieces = table_of(text)
        assert values(pieces) == values(whole)
        with pytest.raises(TableError, match="line 602 has 2 fields, the others 3"):
            table_of(text + "\n1,2\n")
        with pytest.raises(TableError, match="NUL byte in line 602"):
            table_of(text + "\n1,\0,2\n")


def test_the_head_of_a_file_is_short(tmp_path):
    path = tmp_path / "long.csv"
    path.write_text("a\n" + "1\n" * 10_000)
    assert _head(Source(path), "utf-8").count(b"\n") == 200


@pytest.mark.parametrize("name", ["data.csv", "data.csv.gz", "data.txt"])
def test_a_sample_has_some_of_the_rows_in_order(table_of, name):
    text = "a,b\n" + "".join(f'{i},"x\n{i % 3}"\n' for i in range(1000))
    content = gzip.compress(text.encode()) if name.endswith("gz") else text
    table = table_of(content, name, sample=50)
    a = table.columns["a"]
    assert len(set(a)) == 50
    assert np.all(np.diff(a) > 0)
    assert all(b == f"x\n{int(a) % 3}" for a, b in zip(a, table.columns["b"], strict=True))
    assert "A random sample of 50 of 1000 rows was read." in table.notes
    np.testing.assert_array_equal(table_of(content, name, sample=50).columns["a"], a)
    assert set(table_of(content, name, sample=50, random_state=1).columns["a"]) != set(a)
    full = table_of(content, name, sample=5000)
    assert full.n_rows == 1000
    assert not any("sample" in note for note in full.notes)


def test_samples_are_uniform(table_of):
    text = "a\n" + "".join(f"{i}\n" for i in range(10))
    counts = sum(
        np.bincount(table_of(text, sample=3, random_state=s).columns["a"].astype(int), minlength=10) for s in range(300)
    )
    # Binomial(300, 0.3): mean 90, standard deviation 8.
    assert np.all(np.abs(counts - 90) < 32)


def test_standard_input_is_read(monkeypatch):
    for content in (b"a,b\n1,x\n2,y\n3,x\n", gzip.compress(b"a,b\n1,x\n2,y\n3,x\n")):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        table = read_table("-")
        assert values(table) == {"a": [1, 2, 3], "b": ["x", "y", "x"]}
        assert table.source == "Standard input"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    with pytest.raises(TableError, match="Standard input is empty"):
        read_table("-")


def test_constant_and_duplicate_columns_are_noted(table_of):
    table = table_of("a,b,c,d,e,f\n" + "1,x,5,1,x,NA\n2,y,5,2,y,NA\n3,x,5,3,x,NA\n")
    assert "2 columns are constant: 'c', 'f'." in table.notes
    assert "Duplicate columns: 'd' equals 'a', 'e' equals 'b'." in table.notes


def test_without_polars_the_error_says_what_to_install(table_of, monkeypatch):
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(MissingExtraError, match=r'pip install "rarefy\[cli\]"'):
        table_of("a,b\n1,2\n")


@pytest.mark.parametrize("wrong", [{"path": 3}, {"sample": 0}, {"sample": 1.5}, {"random_state": "seed"}])
def test_arguments_are_checked(wrong):
    with pytest.raises(ParameterError, match=f"'{next(iter(wrong))}' parameter of read_table must be"):
        read_table(**({"path": "data.csv"} | wrong))


def test_a_compressed_file_that_grows_too_much_is_refused(table_of, monkeypatch):
    monkeypatch.setattr("rarefy.tables._limits._HARMLESS", 1000)
    monkeypatch.setattr("rarefy.tables._limits._RATIO", 10)
    content = gzip.compress(b"a,b\n" + b"1,2\n" * 5000)
    with pytest.raises(TableError, match="it is truncated or damaged, or made to fill the memory"):
        table_of(content, "data.csv.gz")
    with pytest.raises(TableError, match="after decompression; at most"):
        table_of(content + gzip.compress(b"1,2\n"), "data.csv.gz")  # only the last part states its size
    np.savez_compressed(buffer := io.BytesIO(), X=np.zeros((100, 100)))
    with pytest.raises(TableError, match="holds more than"):
        table_of(buffer.getvalue(), "data.npz")


# Other formats


FRAME = pl.DataFrame(
    {
        "n": [1, 2, None, 4],
        "x": [1.5, None, 2.5, 3.5],
        "flag": [True, None, False, True],
        "word": ["a", "b", None, "a"],
        "day": pl.Series(["2020-01-01", None, "2020-01-03", "2020-01-04"]).str.to_date(),
        "kind": pl.Series(["u", "v", "u", "w"], dtype=pl.Categorical),
        "list": [[1], [2, 3], None, []],
    }
)


@pytest.mark.parametrize("form", ["parquet", "arrow", "frame", "pandas"])
def test_typed_columns(form, tmp_path):
    path = tmp_path / f"data.{form}"
    if form == "parquet":
        FRAME.write_parquet(path)
        table = read_table(path)
    elif form == "arrow":
        FRAME.write_ipc(path)
        table = read_table(path)
    elif form == "frame":
        table = Table.from_frame(FRAME)
    else:
        table = Table.from_frame(
            pd.DataFrame(
                {
                    "n": pd.array([1, 2, None, 4], dtype="Int64"),
                    "x": [1.5, None, 2.5, 3.5],
                    "flag": [True, None, False, True],
                    "word": ["a", "b", None, "a"],
                    "day": pd.to_datetime(["2020-01-01", None, "2020-01-03", "2020-01-04"]),
                    "kind": pd.Categorical(["u", "v", "u", "w"]),
                    "list": [[1], [2, 3], None, []],
                }
            )
        )
    assert list(table.kinds.values()) == ["number", "number", "boolean", "category", "date", "category", "text"]
    np.testing.assert_array_equal(table.columns["n"], [1, 2, np.nan, 4])
    np.testing.assert_array_equal(table.columns["x"], [1.5, np.nan, 2.5, 3.5])
    np.testing.assert_array_equal(table.columns["flag"], [1, np.nan, 0, 1])
    assert table.columns["word"].tolist() == ["a", "b", None, "a"]
    assert table.columns["day"][0].startswith("2020-01-01")
    assert table.columns["day"][1] is None
    assert table.columns["kind"].tolist() == ["u", "v", "u", "w"]
    assert table.columns["list"][1] == "[2, 3]"


@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_samples_of_parquet_and_arrow(form, tmp_path):
    frame = pl.DataFrame({"a": range(500), "b": [f"{i % 7}x" for i in range(500)]})
    path = tmp_path / f"data.{form}"
    (frame.write_parquet if form == "parquet" else frame.write_ipc)(path)
    table = read_table(path, sample=20)
    assert table.n_rows == 20
    assert all(f"{int(a) % 7}x" == b for a, b in zip(*table.columns.values(), strict=True))
    assert table.notes[0] == "A random sample of 20 of 500 rows was read."


def test_a_file_that_ends_the_reader_is_an_error(tmp_path, monkeypatch):
    FRAME.write_parquet(tmp_path / "data.parquet")
    monkeypatch.setattr("rarefy.tables._frames_in_files._TRIAL", "import os; os.abort()")
    with pytest.raises(TableError, match=r"data\.parquet cannot be read as Parquet \(the reader ended with signal 6\)"):
        read_table(tmp_path / "data.parquet")
    monkeypatch.setattr("rarefy.tables._frames_in_files._TRIAL", "raise SystemExit(1)")
    assert read_table(tmp_path / "data.parquet").n_rows == 4  # an attempt that could not start says nothing
    monkeypatch.setattr(sys, "executable", None)
    assert read_table(tmp_path / "data.parquet").n_rows == 4


def test_frames_of_all_sorts():
    frame = pd.DataFrame([[1, "1.5", 2**70], [2, "2.5", 3]], columns=["a", "a", 3])
    table = Table.from_frame(frame)
    assert values(table) == {"a": [1, 2], "a_2": [1.5, 2.5], "3": [2.0**70, 3]}
    assert Table.from_frame(pd.DataFrame({"a": [10**400, 1]}, dtype=object)).columns["a"][0] == np.inf
    assert Table.from_frame(pd.DataFrame({"a": [None, pd.NA, float("nan")]}, dtype=object)).kinds["a"] == "number"
    assert Table.from_frame(pd.DataFrame({"a": [True, None]}, dtype=object)).kinds["a"] == "boolean"
    with pytest.raises(ParameterError, match="data frame is needed; got list"):
        Table.from_frame([1, 2])


def test_libsvm_columns_are_called_by_the_indices_of_the_file(table_of):
    table = table_of("# comment\n1 1:0.5 3:2 # end\n-1 2:1\n", "data.svm")
    assert table.names == ("1", "2", "3")
    np.testing.assert_array_equal(table.matrix.toarray(), [[0.5, 0, 2], [0, 1, 0]])
    np.testing.assert_array_equal(table.labels, [1, -1])
    assert table_of("1 0:0.5 3:2\n-1 2:1\n", "data.txt").names == ("0", "1", "2", "3")
    rest, y = table.split()
    assert (rest.labels, y.tolist()) == (None, [1, -1])
    assert table_of(gzip.compress(b"1 1:0.5 3:2\n-1 2:1\n2 1:1\n"), "data.svm.gz", sample=2).n_rows == 2


@pytest.mark.parametrize("symmetry", ["general", "symmetric", "skew-symmetric"])
@pytest.mark.parametrize("field", ["real", "integer", "pattern"])
@pytest.mark.parametrize("form", ["sparse", "dense"])
def test_matrix_market_is_read_as_scipy_does(table_of, symmetry, field, form):
    A = np.array([[1.0, 0, 2], [0, 3, 0], [4, 0, 5]])
    A = {"general": A, "symmetric": A + A.T, "skew-symmetric": A - A.T}[symmetry]
    if form == "dense" and field == "pattern":
        pytest.skip("only sparse matrices have patterns")
    if field == "pattern" and symmetry == "skew-symmetric":
        pytest.skip("a pattern has no signs")
    mmwrite(
        buffer := io.BytesIO(), sp.coo_array(A) if form == "sparse" else A, field=field, symmetry=symmetry, comment="x"
    )
    expected = mmread(io.BytesIO(buffer.getvalue()))
    expected = expected.toarray() if form == "sparse" else expected
    for content, name in ((buffer.getvalue(), "data.mtx"), (gzip.compress(buffer.getvalue()), "data.mtx.gz")):
        table = table_of(content, name)
        found = table.matrix.toarray() if table.is_sparse else table.matrix
        np.testing.assert_array_equal(found, expected)
        assert table.is_sparse == (form == "sparse")
    assert table_of(buffer.getvalue(), "data.mtx", sample=2).n_rows == 2


def test_arrays(tmp_path):
    X = np.arange(12, dtype=np.float32).reshape(4, 3) ** 2
    np.save(tmp_path / "a.npy", X)
    table = read_table(tmp_path / "a.npy")
    assert table.matrix.dtype == np.float32
    assert table.names == ("column 1", "column 2", "column 3")
    np.testing.assert_array_equal(table.matrix, X)
    assert len(read_table(tmp_path / "a.npy", sample=2).matrix) == 2
    np.savez(tmp_path / "b.npz", X=X.astype(int), y=["u", "v", "u", "v"], names=["p", "q", "r"])
    table = read_table(tmp_path / "b.npz")
    assert table.matrix.dtype == np.float64
    assert (table.names, table.split()[1].tolist()) == (("p", "q", "r"), ["u", "v", "u", "v"])
    part = read_table(tmp_path / "b.npz", sample=3)
    assert (part.n_rows, len(part.labels)) == (3, 3)
    np.savez(tmp_path / "c.npz", X)
    assert "The only array, 'arr_0', is taken for X." in read_table(tmp_path / "c.npz").notes
    for form in ("csr", "csc", "coo"):
        sp.save_npz(tmp_path / "d.npz", sp.coo_array(X).asformat(form))
        table = read_table(tmp_path / "d.npz")
        assert table.is_sparse
        np.testing.assert_array_equal(table.matrix.toarray(), X)


def test_matrices_have_notes_on_constant_and_duplicate_columns():
    X = np.array([[1.0, 0, 1, 7, np.nan, 1], [2, 0, 2, 7, np.nan, 3], [0, 0, 0, 7, np.nan, 0]])
    expected = ("'column 2', 'column 4'", "'column 3' equals 'column 1'")
    for matrix in (X, sp.csr_array(X[:, [0, 1, 2, 3, 5]])):
        notes = " ".join(Table.from_arrays(matrix).notes)
        assert all(part in notes for part in expected)
    assert "3 columns are constant" in Table.from_arrays(X).notes[0]


def test_a_sparse_matrix_of_the_caller_is_left_alone():
    X = sp.csr_array((np.ones(3), np.array([1, 0, 1]), np.array([0, 3])), shape=(1, 2))
    np.testing.assert_array_equal(Table.from_arrays(X).matrix.toarray(), [[1, 2]])
    assert X.indices.tolist() == [1, 0, 1]


def test_folders_of_texts(tmp_path):
    for label, texts in {"sea": ["boat sails", "the boat"], "opera": ["an aria", "aria sings"]}.items():
        (tmp_path / label).mkdir()
        for i, text in enumerate(texts):
            (tmp_path / label / f"{i}.txt").write_text(text)
    (tmp_path / ".hidden").write_text("nothing")
    (tmp_path / "sea" / "latin.txt").write_bytes("caf\xe9".encode("latin-1"))
    table = read_table(tmp_path)
    assert table.names == ("an", "aria", "boat", "café", "sails", "sings", "the")
    assert table.labels.tolist() == ["opera"] * 2 + ["sea"] * 3
    assert table.is_sparse
    assert any("tf-idf weights of 7 words in 5 documents" in note for note in table.notes)
    assert any("sub-folders are the target: 'opera', 'sea'" in note for note in table.notes)
    assert read_table(tmp_path, sample=3).n_rows == 3
    assert read_table(tmp_path / "sea").labels is None
    (tmp_path / "loose.txt").write_text("words")
    with pytest.raises(TableError, match=r"2 folders and 1 file beside them, such as 'loose\.txt'"):
        read_table(tmp_path)
    (tmp_path / "sea" / "picture.png").write_bytes(b"\x89PNG\0")
    with pytest.raises(TableError, match=r"picture\.png is not text"):
        read_table(tmp_path / "sea")


def test_folders_without_words(tmp_path):
    with pytest.raises(TableError, match="holds no files"):
        read_table(tmp_path)
    (tmp_path / "a.txt").write_text("a b c")
    with pytest.raises(TableError, match="holds no words"):
        read_table(tmp_path)


# The table


def test_a_table_is_frozen_and_consistent():
    table = Table.from_arrays(np.eye(2))
    assert repr(table) == "<Table of 2 rows and 2 columns (2 number, dense)>"
    with pytest.raises(FrozenInstanceError):
        table.names = ()
    with pytest.raises(TypeError):
        table.kinds["column 1"] = "text"
    with pytest.raises(ParameterError, match="either columns or a matrix"):
        Table(("a",), {"a": "number"})
    with pytest.raises(ParameterError, match="all different"):
        Table(("a", "a"), {"a": "number"}, None, np.eye(2))
    with pytest.raises(ParameterError, match="equally long"):
        Table(("a", "b"), dict.fromkeys("ab", "number"), {"a": np.zeros(1), "b": np.zeros(2)})
    with pytest.raises(ParameterError, match="kinds of Table"):
        Table(("a",), {"a": "colour"}, {"a": np.zeros(1)})


@pytest.mark.parametrize(
    ("X", "options", "reason"),
    [
        (np.arange(3), {}, "1 dimension; a table has two"),
        (np.zeros((0, 2)), {}, "0 rows and 2 columns"),
        ([["a"]], {}, "numbers are needed"),
        (np.eye(2), {"names": ["a"]}, "2 columns and 1 name"),
        (np.eye(2), {"labels": [1]}, r"target of shape \(1,\)"),
        (np.eye(2), {"labels": [1j, 2]}, "target of type complex128"),
    ],
)
def test_arrays_that_are_no_tables(X, options, reason):
    with pytest.raises(TableError, match=reason):
        Table.from_arrays(X, **options)


def test_split_separates_the_target(table_of):
    table = table_of("age,city,ill\n41,Bern,1\n29,Rome,0\n35,Bern,1\n50,Rome,0\n")
    rest, y = table.split("ill")
    assert (rest.names, y.dtype, y.tolist()) == (("age", "city"), np.float64, [1, 0, 1, 0])
    rest, y = table.split("city")
    assert y.dtype.kind == "U"
    assert y.tolist() == ["Bern", "Rome"] * 2
    matrix, y = Table.from_arrays(sp.csr_array(np.array([[1.0, 0], [2, 3]])), ["a", "b"]).split("b")
    assert (matrix.matrix.toarray().tolist(), y.tolist()) == ([[1], [2]], [0, 3])


def test_split_explains_what_is_wrong(table_of):
    table = table_of("age,city,gap,word,same\n41,Bern,1,x,7\n29,Rome,,y,7\n35,Bern,,,7\n50,Rome,2,x,7\n")
    with pytest.raises(TableError, match=r"data\.csv has no column 'cty'; did you mean 'city'\?"):
        table.split("cty")
    with pytest.raises(TableError, match="has no column 'zzz'; it has 'age', 'city', 'gap', 'word', 'same'"):
        table.split("zzz")
    with pytest.raises(TableError, match="'gap' has 2 missing values in 4 rows, the first in row 2"):
        table.split("gap")
    with pytest.raises(TableError, match="'word' has 1 missing value in 4 rows, the first in row 3"):
        table.split("word")
    with pytest.raises(TableError, match=r"target 'same' is constant \('7\.0' in all 4 rows\)"):
        table.split("same")
    with pytest.raises(TableError, match="states no target: name one of its columns, 'age'"):
        table.split()
    with pytest.raises(TableError, match="no column left"):
        table_of("a\n1\n2\n").split("a")
    assert table.drop(["gap", "word"]).names == ("age", "city", "same")


# The encoder


def people():
    return pd.DataFrame(
        {
            "age": [41, 29, 35, 50],
            "member": [True, False, True, True],
            "city": pd.Categorical(["Bern", "Rome", "Bern", "Oslo"]),
            "sex": ["f", "m", "f", "m"],
        }
    )


def test_encoding_of_every_kind():
    encoder = TableEncoder()
    X = encoder.fit_transform(people())
    assert list(encoder.get_feature_names_out()) == ["age", "member", "city=Bern", "city=Oslo", "city=Rome", "sex=m"]
    np.testing.assert_array_equal(
        X, [[41, 1, 1, 0, 0, 0], [29, 0, 0, 0, 1, 1], [35, 1, 1, 0, 0, 0], [50, 1, 0, 1, 0, 1]]
    )
    assert encoder.groups_ == [0, 1, 2, 2, 2, 3]
    assert encoder.n_features_in_ == 4
    np.testing.assert_array_equal(encoder.transform(pl.DataFrame(people().to_dict("list"))), X)


def test_a_single_row_is_encoded_as_in_fit(table_of):
    encoder = TableEncoder().fit(people())
    row = table_of("sex,city,member,age\nm,Rome,false,29\n")
    assert row.kinds["city"] == "text"
    np.testing.assert_array_equal(encoder.transform(row), [[29, 0, 0, 0, 1, 1]])


def test_unknown_categories_are_zeros_and_numbers_may_be_categories():
    frame = pd.DataFrame({"grade": ["1", "2", "1", "x"] * 3})
    encoder = TableEncoder().fit(frame)
    assert list(encoder.get_feature_names_out()) == ["grade=1", "grade=2", "grade=x"]
    X = encoder.transform(pd.DataFrame({"grade": [2.0, 7.0, 1.0, 2.5]}))
    np.testing.assert_array_equal(X, [[0, 1, 0], [0, 0, 0], [1, 0, 0], [0, 0, 0]])


def test_text_and_dates_are_refused_by_name():
    frame = people().assign(name=["Ann", "Bo", "Cy", "Di"], born=pd.to_datetime(["2020-01-01"] * 4))
    with pytest.raises(
        TableError,
        match=r"2 columns refused: 'name' is text with 4 distinct values in 4 rows .*convert it.*"
        r"'born' is a date; convert it to a number.*--drop 'name,born'",
    ):
        TableEncoder().fit(frame)


def test_max_categories_decides_what_is_text():
    frame = pd.DataFrame({"a": [f"c{i % 60}" for i in range(240)]})
    with pytest.raises(TableError, match="at most 50"):
        TableEncoder().fit(Table.from_frame(frame))
    assert TableEncoder(max_categories=60).fit_transform(Table.from_frame(frame)).shape == (240, 60)
    with pytest.raises(TableError, match="at most 2"):
        TableEncoder(max_categories=2).fit(people())


def test_missing_values_are_refused_with_names_and_counts():
    frame = people().assign(age=[41, None, 35, None], city=["Bern", None, "Bern", "Rome"])
    with pytest.raises(
        TableError, match=r"4 rows and missing values in 2 columns: 'age' \(2\), 'city' \(1\).*--impute median"
    ):
        TableEncoder().fit(frame)
    wide = pd.DataFrame({f"c{i}": [1.0, None] for i in range(12)})
    with pytest.raises(TableError, match=r"'c9' \(1\) and 2 more"):
        TableEncoder().fit(wide)
    with pytest.raises(TableError, match="missing values in 1 column: 'age'"):
        TableEncoder().fit(people()).transform(people().assign(age=[1, None, 2, 3]))
    X = np.array([[1.0, np.nan], [np.nan, np.nan], [3.0, 4.0]])
    with pytest.raises(TableError, match=r"'column 1' \(1\), 'column 2' \(2\)"):
        TableEncoder().fit(X)
    with pytest.raises(TableError, match=r"'column 1' \(1\), 'column 2' \(2\)"):
        TableEncoder().fit(sp.csr_array(X))


def test_medians_and_most_frequent_values_are_imputed():
    frame = people().assign(
        age=[41, None, 35, 50], member=[True, None, True, False], city=["Bern", None, "Bern", "Rome"]
    )
    encoder = TableEncoder(impute="median").fit(frame)
    np.testing.assert_array_equal(encoder.transform(frame)[1], [41, 1, 0, 1])
    assert [column["fill"] for column in encoder.columns_] == [41.0, 1.0, "Bern", "f"]
    np.testing.assert_array_equal(encoder.transform(people().assign(sex=[None] * 4))[:, -1], 0)
    with pytest.raises(TableError, match="'age' has no value at all"):
        TableEncoder(impute="median").fit(people().assign(age=[np.nan] * 4))
    X = np.array([[1.0, np.nan, 0], [np.nan, 2.0, 0], [3.0, 4.0, 0], [5.0, 0.0, 1]])
    expected = [[1, 2, 0], [3, 2, 0], [3, 4, 0], [5, 0, 1]]
    for data in (X, sp.csr_array(X)):
        found = TableEncoder(impute="median").fit_transform(data)
        assert sp.issparse(found) == sp.issparse(data)
        np.testing.assert_array_equal(found.toarray() if sp.issparse(found) else found, expected)
    X[:, 1] = np.nan
    for data in (X, sp.csr_array(X)):
        with pytest.raises(TableError, match="'column 2' has no value at all"):
            TableEncoder(impute="median").fit(data)


def test_columns_that_are_missing_too_many_or_in_another_order():
    encoder = TableEncoder().fit(people())
    expected = encoder.transform(people())
    with pytest.raises(TableError, match="lacks 2 of 4 columns: 'age', 'sex'"):
        encoder.transform(people()[["city", "member"]])
    with pytest.warns(RarefyWarning, match="1 column too many, ignored: 'extra'"):
        found = encoder.transform(people().assign(extra=1)[["extra", "sex", "age", "city", "member"]])
    np.testing.assert_array_equal(found, expected)


def test_columns_that_a_sparse_matrix_lacks_are_zeros(table_of):
    encoder = TableEncoder().fit(table_of("1 1:1 2:2 4:4\n2 2:1 3:2\n", "fit.svm"))
    with pytest.warns(RarefyWarning, match="lacks 2 of 4 columns, which count as zeros: '3', '4'"):
        X = encoder.transform(table_of("1 2:5\n", "new.svm"))
    np.testing.assert_array_equal(X.toarray(), [[0, 5, 0, 0]])
    with pytest.warns(RarefyWarning, match="has 5 columns too many, ignored: '5', '6', '7', '8', '9'"):
        X = encoder.transform(table_of("1 2:5 9:1\n", "new.svm"))
    np.testing.assert_array_equal(X.toarray(), [[0, 5, 0, 0]])
    dense = TableEncoder().fit(np.eye(3))
    with pytest.raises(TableError, match="lacks 1 of 3 columns: 'column 3'"):
        dense.transform(np.eye(2))


def test_kinds_that_changed_are_an_error_with_the_first_bad_value():
    encoder = TableEncoder().fit(people())
    with pytest.raises(TableError, match="'age' was numbers and is text here; the first bad value is 'old' in row 2"):
        encoder.transform(people().assign(age=["41", "old", "35", "older"]))
    with pytest.raises(TableError, match="'member' was true or false and has '2' in row 3"):
        encoder.transform(people().assign(member=[1, 0, 2, 1]))
    with pytest.raises(
        TableError, match="'member' was true or false and is category here; the first bad value is 'no'"
    ):
        encoder.transform(people().assign(member=["no", "yes", "no", "yes"]))
    np.testing.assert_array_equal(encoder.transform(people().assign(age=[True] * 4))[:, 0], 1)


def test_infinite_numbers_are_an_error():
    with pytest.raises(TableError, match=r"infinite numbers.*'age'"):
        TableEncoder().fit(people().assign(age=[1, np.inf, 2, 3]))
    X = np.array([[1.0, 2.0], [3.0, -np.inf]])
    for data in (X, sp.csr_array(X)):
        with pytest.raises(TableError, match=r"infinite numbers.*'column 2'"):
            TableEncoder().fit(data)


def test_a_table_and_a_matrix_with_the_same_columns_are_encoded_alike():
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]})
    matrix = Table.from_arrays(frame[["b", "a"]].to_numpy(), ["b", "a"])
    expected = frame.to_numpy()
    np.testing.assert_array_equal(TableEncoder().fit(frame).transform(matrix), expected)
    np.testing.assert_array_equal(TableEncoder().fit(matrix).transform(frame), expected[:, ::-1])
    mixed = TableEncoder().fit(frame.assign(a=[True, False]))
    np.testing.assert_array_equal(mixed.transform(Table.from_arrays(np.eye(2), ["a", "b"])), np.eye(2))


def test_names_of_indicators_are_unique():
    frame = pd.DataFrame({"a": ["x", "y", "z"] * 2, "a=x": range(6)})
    assert list(TableEncoder().fit(frame).get_feature_names_out()) == ["a=x", "a=y", "a=z", "a=x_2"]


def test_the_encoder_is_written_as_json_and_read_again():
    frame = people().assign(age=[41, None, 35, 50])
    encoder = TableEncoder(impute="median").fit(frame)
    again = TableEncoder.from_dict(json.loads(json.dumps(encoder.to_dict())))
    assert again.get_params() == encoder.get_params()
    np.testing.assert_array_equal(again.transform(frame), encoder.transform(frame))
    assert vars(again) == vars(encoder)


@pytest.mark.parametrize(
    "change",
    [
        None,
        {"format": "other"},
        {"more": 1},
        {"impute": "mean"},
        {"impute": None},
        {"max_categories": 0},
        {"max_categories": True},
        {"columns": []},
        {"columns": {}},
        {"columns": [{"name": "a"}]},
        *(
            {"columns": [{"name": "a", "kind": "number", "categories": [], "fill": 1.0} | wrong]}
            for wrong in (
                {"name": 3},
                {"kind": "text"},
                {"kind": "category"},
                {"categories": ["x"]},
                {"categories": None},
                {"kind": "category", "categories": ["x", "x"], "fill": "x"},
                {"kind": "category", "categories": ["x", 1], "fill": "x"},
                {"kind": "category", "categories": ["x", "y"], "fill": "z"},
                {"kind": "boolean", "fill": 0.5},
                {"fill": "x"},
                {"fill": float("nan")},
                {"fill": True},
            )
        ),
        {"columns": [{"name": "a", "kind": "number", "categories": [], "fill": 1.0}] * 2},
    ],
)
def test_forged_encoders_are_refused(change):
    values = TableEncoder(impute="median").fit(people()).to_dict()
    with pytest.raises(ParameterError):
        TableEncoder.from_dict(values | change if change is not None else None)


def test_the_encoder_is_an_estimator(table_of):
    table = table_of("age,city,ill\n" + "41,Bern,y\n29,Rome,n\n35,Bern,y\n50,Rome,n\n" * 3)
    rest, y = table.split("ill")
    model = make_pipeline(TableEncoder(), LogisticRegression()).fit(rest, y)
    assert model.score(rest, y) == 1.0
    encoder = clone(TableEncoder(impute="median", max_categories=3))
    assert encoder.get_params() == {"impute": "median", "max_categories": 3}
    with pytest.raises(ParameterError, match="'impute' parameter of TableEncoder"):
        TableEncoder(impute="mean").fit(rest)
    fitted = TableEncoder().fit(rest)
    with pytest.raises(TableError):
        fitted.fit(pd.DataFrame({"a": ["x", "y"]}))
    assert fitted.transform(rest).shape == (12, 2)  # a fit that fails leaves it as it was
    out = TableEncoder().set_output(transform="pandas").fit_transform(people())
    assert list(out.columns) == ["age", "member", "city=Bern", "city=Oslo", "city=Rome", "sex=m"]
