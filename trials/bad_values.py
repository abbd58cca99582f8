"""Values that no estimator or function expects, and whether they have to be refused."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import scipy.sparse as sp


class Generator:
    """What is iterable and has no length, as often as it is asked."""

    def __init__(self, X: np.ndarray) -> None:
        self._X = X

    def __iter__(self) -> Any:
        return iter(self._X)


def data() -> tuple[np.ndarray, np.ndarray]:
    """What is good: 24 rows, 6 columns, two classes."""
    rng = np.random.default_rng(0)
    y = np.arange(24) % 3 == 0
    return rng.standard_normal((24, 6)) + y[:, None], y.astype(int)


def bad_matrices() -> dict[str, tuple[Any, bool]]:
    """Matrices in place of X, and whether they have to be refused."""
    X, _ = data()
    holed, infinite = X.copy(), X.copy()
    holed[3, 2], infinite[3, 2] = np.nan, np.inf
    mask = np.zeros(X.shape, dtype=bool)
    mask[3, 2] = True
    dates = np.datetime64("2020-01-01") + np.arange(X.size).reshape(X.shape)
    frame = pd.DataFrame(X, columns=list("abcdef"))
    odd = sp.csr_array(X)
    odd.indices = odd.indices[::-1].copy()
    refused = {
        "None": None,
        "a word": "nonsense",
        "a number": 3.0,
        "no dimension": np.array(3.0),
        "one dimension": X[:, 0],
        "three dimensions": X[:, :, None],
        "no rows": X[:0],
        "no columns": X[:, :0],
        "a dict": {"a": [1.0]},
        "a set": {1.0, 2.0},
        "a generator": Generator(X),
        "ragged": [[1.0, 2.0], [3.0]],
        "words": X.astype(str).astype(object) + "x",
        "complex": X + 1j,
        "NaN": holed,
        "infinite": infinite,
        "-infinite": -infinite,
        "masked": np.ma.MaskedArray(X, mask),
        "masked list": [np.ma.MaskedArray(row, gap) for row, gap in zip(X, mask, strict=True)],
        "dates": dates,
        "spans": dates - dates[0, 0],
        "object dates": dates.astype(object),
        "structured": np.zeros(24, dtype=[("a", float), ("b", float)]),
        "frame with NaN": frame.mask(mask),
        "frame with dates": frame.assign(a=pd.Timestamp("2020-01-01")),
        "frame with spans": frame.assign(a=pd.Timedelta(1)),
        "frame with words": frame.assign(a="x"),
        "frame with NA": frame.astype("Float64").mask(mask),
        "frame without columns": frame[[]],
        "frame without rows": frame[:0],
        "series": frame["a"],
        "polars with null": pl.DataFrame(X).with_columns(pl.lit(None).alias("column_0")),
        "polars with dates": pl.DataFrame(X).with_columns(pl.date(2020, 1, 1).alias("column_0")),
        "polars with words": pl.DataFrame(X).with_columns(pl.lit("x").alias("column_0")),
        "sparse with NaN": sp.csr_array(holed),
        "sparse without rows": sp.csr_array((0, 6)),
        "sparse without columns": sp.csr_array((24, 0)),
        "sparse complex": sp.csr_array(X + 1j),
        "sparse 1-d": sp.coo_array(X[:, 0]),
        "objects": np.full(X.shape, object()),
        "bytes": X.astype("S8").astype(object) + b"x",
    }
    allowed = {
        "one row": X[:1],
        "two rows": X[:2],
        "three rows": X[:3],
        "one column": X[:, :1],
        "zeros": 0 * X,
        "constant": 0 * X + 7.0,
        "equal rows": X[[0] * 24],
        "equal columns": X[:, [0] * 6],
        "1e308": 1e308 * np.sign(X),
        "1e200": X * 1e200,
        "1e155": X * 1e155,
        "1e150": X * 1e150,
        "1e100": X * 1e100,
        "1e-100": X * 1e-100,
        "1e-150": X * 1e-150,
        "1e-200": X * 1e-200,
        "1e-308": X * 1e-308,
        "smallest": 5e-324 * np.sign(X),
        "one huge": np.where(mask, 1e308, X),
        "one huge column": X * np.array([1e200, 1, 1, 1, 1, 1]),
        "scales": X * 10.0 ** np.arange(-150, 150, 50),
        "float32 huge": (X * 1e37).astype(np.float32),
        "float16": X.astype(np.float16),
        "long double": X.astype(np.longdouble),
        "booleans": X > 0,
        "int8": X.astype(np.int8),
        "uint64": np.full(X.shape, 2**64 - 1, dtype=np.uint64),
        "numbers as words": X.astype(str),
        "Decimal": np.array([[Decimal(v) for v in row] for row in X]),
        "lists": X.tolist(),
        "tuples": tuple(map(tuple, X.tolist())),
        "np.matrix": np.matrix(X),
        "masked nowhere": np.ma.MaskedArray(X),
        "big-endian": X.astype(">f8"),
        "read-only": _read_only(X),
        "strided": np.repeat(X, 2, axis=0)[::2],
        "Fortran": np.asfortranarray(X),
        "reversed": X[::-1, ::-1],
        "frame": frame,
        "frame of objects": frame.astype(object),
        "frame with one name": frame.set_axis(["a"] * 6, axis=1),
        "frame with numbers as names": frame.set_axis(range(6), axis=1),
        "frame with mixed names": frame.set_axis([1, "a", 2.5, None, "b", (1, 2)], axis=1),
        "frame of categories": (frame > 0).astype(int).astype("category"),
        "frame of Float64": frame.astype("Float64"),
        "frame with levels": frame.set_axis(pd.MultiIndex.from_product([["a", "b"], range(3)]), axis=1),
        "sparse frame": frame.astype(pd.SparseDtype(float)),
        "polars": pl.DataFrame(X),
        "polars of booleans": pl.DataFrame(X > 0),
        "polars of decimals": pl.DataFrame(X).cast(pl.Decimal(20, 6)),
        "csr": sp.csr_array(X),
        "coo": sp.coo_array(X),
        "dok": sp.dok_array(X),
        "lil": sp.lil_matrix(X),
        "bsr": sp.bsr_array(X),
        "dia": sp.dia_array(X),
        "sparse booleans": sp.csr_array(X > 0),
        "sparse zeros": sp.csr_array((24, 6)),
        "sparse 1e308": sp.csr_array(1e308 * np.sign(X)),
        "sparse int64 indices": _wide_indices(X),
        "sparse unsorted": odd,
        "sparse stored zeros": _stored_zeros(X),
        "sparse duplicates": sp.coo_array(
            (np.ones(48), (np.repeat(np.arange(24), 2), np.zeros(48, dtype=int))), shape=(24, 6)
        ),
    }
    return {k: (v, True) for k, v in refused.items()} | {k: (v, False) for k, v in allowed.items()}


def _read_only(X: np.ndarray) -> np.ndarray:
    X = X.copy()
    X.flags.writeable = False
    return X


def _wide_indices(X: np.ndarray) -> Any:
    wide = sp.csr_array(X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    return wide


def _stored_zeros(X: np.ndarray) -> Any:
    found = sp.csr_array(X)
    found.data[:20] = 0.0
    return found


def bad_targets() -> dict[str, tuple[Any, bool]]:
    """Vectors in place of y, and whether a classifier has to refuse them."""
    _, y = data()
    z = y.astype(float)
    holed, infinite = z.copy(), z.copy()
    holed[3], infinite[3] = np.nan, np.inf
    dates = np.datetime64("2020-01-01") + y
    refused = {
        "a word": "nonsense",
        "a number": 1,
        "shorter": y[:-1],
        "longer": np.append(y, 1),
        "empty": y[:0],
        "NaN": holed,
        "infinite": infinite,
        "None inside": np.array([None, *y[1:]], dtype=object),
        "complex": y + 1j,
        "three dimensions": y[:, None, None],
        "objects": np.array([object()] * 24),
        "dicts": np.array([{}] * 24),
        "words and numbers": np.array(["a", 1] * 12, dtype=object),
        "masked": np.ma.MaskedArray(y, np.arange(24) == 3),
        "frame of NaN": pd.DataFrame({"y": holed}),
        "series with NA": pd.Series(y, dtype="Int64").mask(y == 1),
        "NaN and words": np.array(["a", np.nan] * 12, dtype=object),
    }
    allowed = {
        "None": None,
        "one class": 0 * y,
        "three classes": np.arange(24) % 3,
        "24 classes": np.arange(24),
        "one rare": (np.arange(24) == 0).astype(int),
        "two rare": (np.arange(24) < 2).astype(int),
        "a column": y[:, None],
        "two columns": np.c_[y, y],
        "sparse": sp.csr_array(y[:, None]),
        "floats": np.linspace(0, 1, 24),
        "booleans": y == 1,
        "words": np.array(["a", "b"])[y],
        "object words": np.array(["a", "b"], dtype=object)[y],
        "bytes": np.array([b"a", b"b"])[y],
        "2**62": y * 2**62,
        "uint64": np.where(y, 2**64 - 1, 0).astype(np.uint64),
        "1e308": 1e308 * z,
        "-1e308 and 1e308": 1e308 * (2 * z - 1),
        "1e-320": 1e-320 * z,
        "dates": dates,
        "spans": dates - dates.min(),
        "list": y.tolist(),
        "series": pd.Series(y),
        "category": pd.Series(y).astype("category"),
        "polars": pl.Series(y),
        "frame": pd.DataFrame({"y": y}),
        "shuffled index": pd.Series(y, index=np.arange(24)[::-1]),
        "long words": np.array(["a" * 10_000, "b"])[y],
        "float16": z.astype(np.float16),
    }
    return {k: (v, True) for k, v in refused.items()} | {k: (v, False) for k, v in allowed.items()}


def bad_weights() -> dict[str, tuple[Any, bool]]:
    """Vectors in place of sample_weight, and whether they have to be refused."""
    w = np.ones(24)
    third = np.arange(24) == 3
    refused = {
        "NaN": np.where(third, np.nan, w),
        "infinite": np.where(third, np.inf, w),
        "negative": np.where(third, -1.0, w),
        "all negative": -w,
        "short": w[:-1],
        "long": np.ones(25),
        "empty": w[:0],
        "two columns": np.ones((24, 2)),
        "words": np.array(["a"] * 24),
        "complex": w + 1j,
        "masked": np.ma.MaskedArray(w, third),
        "dates": np.datetime64("2020-01-01") + np.arange(24),
        "spans": np.arange(24).astype("timedelta64[D]"),
        "None inside": np.array([None, *w[1:]], dtype=object),
        "a dict": {0: 1.0},
        "all zero": 0 * w,
        "a word": "balanced",
        "series with NA": pd.Series(w, dtype="Float64").mask(third),
    }
    allowed = {
        "one counts": third.astype(float),
        "one class counts": data()[1].astype(float),
        "1e200": 1e200 * w,
        "1e308": 1e308 * w,
        "1e20": 1e20 * w,
        "1e-20": 1e-20 * w,
        "one 1e200": np.where(third, 1e200, w),
        "1e-200": 1e-200 * w,
        "1e-320": 1e-320 * w,
        "booleans": w == 1.0,
        "integers": w.astype(int),
        "list": w.tolist(),
        "series": pd.Series(w, index=np.arange(24)[::-1]),
        "a number": 1.0,
        "float16": w.astype(np.float16),
        "scales": 10.0 ** np.linspace(-150, 150, 24),
    }
    return {k: (v, True) for k, v in refused.items()} | {k: (v, False) for k, v in allowed.items()}


VALUES: tuple[Any, ...] = (
    None,
    True,
    0,
    1,
    -1,
    2,
    3,
    1000,
    10**9,
    10**18,
    10**400,
    0.0,
    0.5,
    -0.5,
    1.5,
    1e-300,
    1e-100,
    1e-30,
    1e-15,
    1e15,
    1e30,
    1e100,
    1e300,
    1e308,
    float("nan"),
    float("inf"),
    -float("inf"),
    5e-324,
    1j,
    "",
    "nonsense",
    "auto",
    b"auto",
    [],
    [1],
    [0.5],
    [-1],
    [float("nan")],
    [1e300],
    ["auto"],
    (),
    {},
    {"a": 1},
    {"gap": 0.1},
    {"distortion": -1.0},
    {"explained": 2.0},
    {"degree": 2},
    {0: 1.0, 1: float("nan")},
    {0: 1e300, 1: 1.0},
    set(),
    object(),
    np.array([]),
    np.array([0.5]),
    np.array([1, 2]),
    np.array([[0.5, 0.5]]),
    np.full(6, np.nan),
    np.array(3.0),
    np.zeros(24),
    np.arange(24),
    np.array([True, False] * 12),
    np.int8(3),
    np.float32(0.5),
    np.nan,
    Decimal("0.5"),
    "linear",
    "poly",
    "rbf",
    "precomputed",
    "laplacian",
    "balanced",
    "l1",
    "all",
    "random",
    "rare",
    len,
    int,
    np.random.default_rng(0),
    range(2),
    slice(3),
    Path("."),
)
