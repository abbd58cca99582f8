"""Text files with very many columns: the same table as by a column at a time."""

import numpy as np
import pytest

from rarefy.exceptions import TableError
from rarefy.tables import _csv, _wide, read_table

WORDS = ["oak", "élan", "NA", "", "x y"]


@pytest.fixture
def wide(monkeypatch):
    """Take files with three columns for wide ones, and count how many blocks were read as such."""
    read = []

    def counted(*given):
        read.append(_wide.wide_columns(*given))
        return read[-1]

    monkeypatch.setattr(_wide, "FEWEST", 3)
    monkeypatch.setattr(_csv, "wide_columns", counted)
    return read


def both(path, text, monkeypatch):
    path.write_bytes(text)
    fast = read_table(path)
    monkeypatch.setattr(_csv, "wide_columns", lambda *given: None)
    return fast, read_table(path)


def assert_same(fast, plain):
    assert fast.names == plain.names
    assert dict(fast.kinds) == dict(plain.kinds)
    assert fast.notes == plain.notes
    for name in fast.names:
        np.testing.assert_array_equal(fast.columns[name], plain.columns[name])


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("places", [(), (0,), (2,), (1, 5)])
def test_numbers_words_and_missing_values(tmp_path, wide, monkeypatch, delimiter, places):
    rng = np.random.default_rng(0)
    cells = [[f"{value:.3g}" for value in row] for row in rng.standard_normal((9, 6)) * 10.0 ** rng.uniform(-9, 9, 6)]
    for i, row in enumerate(cells):
        for j in places:
            row[j] = WORDS[i % len(WORDS)] if i else "oak"
        row[4] = ["1", "", "NaN", "-0", " 2", "1e5", "inf", "7", "?"][i]
    text = "\n".join(delimiter.join(row) for row in [list("abcdef"), *cells]) + "\n"
    fast, plain = both(tmp_path / "t.csv", text.encode(), monkeypatch)
    assert_same(fast, plain)
    assert any(found is not None for found in wide)


def test_decimal_commas(tmp_path, wide, monkeypatch):
    fast, plain = both(tmp_path / "t.csv", b"a;b;c\n1,5;2;3\n2,25;;1\n1;2,125;oak\n", monkeypatch)
    assert_same(fast, plain)
    assert fast.columns["a"].tolist() == [1.5, 2.25, 1.0]


@pytest.mark.parametrize(
    "text",
    [
        b'a,b,c\n1,"2",3\n4,5,6\n',  # quotes
        b"a,b,c\n1,2,3\n\n4,5,6\n",  # a blank line
        b"a,b,c\n1,2,3\n4,5,6",  # no line break at the end
        b"a,b,c\r\n1,2,3\r\n4,,6\r\n",
        b"a,b,c\n" + b"1,2,3\n" * 300 + b"4,oak,6\n",  # words after many rows of numbers
    ],
)
def test_other_ways_of_writing(tmp_path, wide, monkeypatch, text):
    assert_same(*both(tmp_path / "t.csv", text, monkeypatch))


def test_two_lines_whose_errors_cancel_are_found(tmp_path, wide):
    path = tmp_path / "t.csv"
    path.write_bytes(b"a,b,c\n" + b"1,2,3\n" * 30 + b"1,2\n1,2,3,4\n")
    with pytest.raises(TableError, match="line 32 has 2 fields"):
        read_table(path)
