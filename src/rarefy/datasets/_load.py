"""Data sets from files: found by name, checked, and explained when they are missing."""

import os
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.datasets import load_svmlight_file
from sklearn.utils import Bunch

from rarefy._fit import checked_arguments
from rarefy.datasets._catalogue import ARRAYS, DOCUMENTS, SPLIT_ARRAYS, Source
from rarefy.datasets._provenance import fingerprint, note_files
from rarefy.exceptions import MissingDataError, ParameterError

StrPath = str | os.PathLike[str]

_TECHTC = "techtc:"


@checked_arguments({"name": [str], "data_dir": [str, os.PathLike, None]})
def load(name: str, data_dir: StrPath | None) -> Bunch:
    """Load a data set by name from a folder, and check that it is the right one.

    Parameters
    ----------
    name : str
        Documents: "movie_reviews", "20newsgroups", "rcv1_ccat", or "techtc:ID1_ID2" for one set of TechTC-300 in its
        own format. A rare class: "abalone_19", "abalone_7", "coil_2000", "ecoli", "libras_move", "mammography", "oil",
        "page_blocks0", "scene", "sick_euthyroid", "solar_flare_m0", "thyroid_sick", "vowel0", "yeast_me2". Ordered
        levels: "car_evaluation", "wine_red". Two classes: "sonar", "ionosphere", "saheart", "wdbc", "australian",
        "german_numeric24". With a training and a test part: "mnist", "kddcup99_10pct", "madelon".
    data_dir : path-like or None
        Folder with the files; None raises an error that says which file is needed.

    Returns
    -------
    data : Bunch
        `data` (CSR for documents, dense otherwise), `target` (1 is the rare class), `feature_names` (None where they
        are unknown). Sets with two parts have `test_data` and `test_target` as well. Values are as in the files: not
        scaled, MNIST's bytes from 0 to 255.

    Raises
    ------
    ParameterError
        If there is no data set of this name.
    MissingDataError
        If a file is missing, damaged or another version of the data; it says which file, and where the data come from.

    See Also
    --------
    load_techtc : Load one set of TechTC-300 from its folder.
    load_libsvm : Load any file in libsvm format.

    Examples
    --------
    >>> from rarefy.datasets import load
    >>> load("ecoli", "no_such_folder")
    Traceback (most recent call last):
        ...
    rarefy.exceptions.MissingDataError: ...ecoli.npz is missing. It holds Ecoli of the UCI repository, ...
    """
    if name.startswith(_TECHTC):
        content = "TechTC-300 of Davidov, Gabrilovich and Markovitch (2004)"
        return load_techtc(_require(data_dir, f"techtc300/Exp_{name.removeprefix(_TECHTC)}", content))
    if name in SPLIT_ARRAYS:
        return _load_parts(name, data_dir)
    if name in ARRAYS:
        X, y = _read_arrays(name, ARRAYS[name], "X", "y", data_dir)
        return Bunch(data=X, target=y, feature_names=None)
    if name in DOCUMENTS:
        return _load_documents(name, data_dir)
    known = ", ".join([*DOCUMENTS, *ARRAYS, *SPLIT_ARRAYS])
    raise ParameterError(f"name of load must be one of {known} or {_TECHTC}ID1_ID2; got {name!r}.")


def _load_documents(name: str, data_dir: StrPath | None) -> Bunch:
    source = DOCUMENTS[name]
    path = _require(data_dir, f"{source.path}_X.npz", source.content)
    with _reading(path, source.content):
        X = sp.csr_array(sp.load_npz(path))
    path = _require(data_dir, f"{source.path}_y.npz", source.content)
    with _reading(path, f"arrays y and vocab of {source.content}"), np.load(path, allow_pickle=False) as labels:
        y = labels["y"]
        words = np.char.decode(labels["vocab"], "utf-8", "replace") if "vocab" in labels.files else None
    _check(name, source, X, y, data_dir)
    return Bunch(data=X.astype(np.float64), target=y, feature_names=words)


def _load_parts(name: str, data_dir: StrPath | None) -> Bunch:
    (X, y), (X_test, y_test) = (
        _read_arrays(f"{name} ({part})", source, f"X_{part}", f"y_{part}", data_dir)
        for part, source in SPLIT_ARRAYS[name].items()
    )
    return Bunch(data=X, target=y, test_data=X_test, test_target=y_test, feature_names=None)


def _read_arrays(
    name: str, source: Source, data_key: str, target_key: str, data_dir: StrPath | None
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Two arrays of an archive, checked."""
    path = _require(data_dir, source.path, source.content)
    with _reading(path, source.content), np.load(path, allow_pickle=False) as arrays:
        missing = [key for key in (data_key, target_key) if key not in arrays.files]
        if missing:
            raise MissingDataError(
                f"{source.path} in {data_dir} has no {' and no '.join(missing)}. It should hold {source.content}."
            )
        X, y = arrays[data_key], arrays[target_key]
    _check(name, source, X, y, data_dir)
    return X, y


def _check(name: str, source: Source, X: Any, y: NDArray[Any], data_dir: StrPath | None) -> None:
    """The shape and the class counts show whether it is the right data set."""
    counts = {label.item(): int(count) for label, count in zip(*np.unique(y, return_counts=True), strict=True)}
    if X.shape != source.shape or any(counts.get(label) != count for label, count in source.counts.items()):
        raise MissingDataError(
            f"{source.path} in {data_dir} holds {X.shape} with class counts {counts}; {name} has {source.shape} and "
            f"{source.counts}. It is another version of the data."
        )


@checked_arguments({"folder": [str, os.PathLike]})
def load_techtc(folder: StrPath) -> Bunch:
    r"""Load one set of TechTC-300: `vectors.dat` in svmlight format and `features.idx` with the words.

    Parameters
    ----------
    folder : path-like
        The folder `Exp_ID1_ID2` of the set.

    Returns
    -------
    data : Bunch
        `data` (CSR counts), `target` (-1 and 1), `feature_names`.

    Raises
    ------
    MissingDataError
        If a file is missing or damaged.

    See Also
    --------
    load : Load a data set by name.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from rarefy.datasets import load_techtc
    >>> with TemporaryDirectory() as folder:
    ...     n = (Path(folder) / "features.idx").write_text("0 yacht\n2 opera\n")
    ...     n = (Path(folder) / "vectors.dat").write_text("1 0:2\n-1 2:3\n")
    ...     data = load_techtc(folder)
    >>> list(data.feature_names), data.data.toarray().tolist()
    (['yacht', 'opera'], [[2.0, 0.0], [0.0, 3.0]])
    """
    folder = Path(folder)
    with _reading(folder, "features.idx, a number and a word a line, and vectors.dat in svmlight format"):
        lines = (folder / "features.idx").read_text(encoding="utf-8", errors="replace").splitlines()
        pairs = [line.split(maxsplit=1) for line in lines if line.strip() and not line.startswith("#")]
        words = {int(number): word for number, word in pairs}
        X, y = load_svmlight_file(str(folder / "vectors.dat"), n_features=max(words) + 1, zero_based=True)
    index = np.array(sorted(words))
    return Bunch(
        data=sp.csr_array(X)[:, index], target=y, feature_names=np.array([words[i] for i in index], dtype=object)
    )


@checked_arguments({"path": [str, os.PathLike]})
def load_libsvm(path: StrPath) -> Bunch:
    r"""Load a file in libsvm format.

    Parameters
    ----------
    path : path-like
        The file, also compressed (.gz, .bz2).

    Returns
    -------
    data : Bunch
        `data` (CSR), `target`, `feature_names` (None).

    Raises
    ------
    MissingDataError
        If the file is missing or not in this format.

    See Also
    --------
    load : Load a data set by name.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from rarefy.datasets import load_libsvm
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "two_samples.txt"
    ...     n = path.write_text("1 1:0.5 3:2\n-1 2:1\n")
    ...     data = load_libsvm(path)
    >>> data.data.toarray().tolist(), data.target.tolist()
    ([[0.5, 0.0, 2.0], [0.0, 1.0, 0.0]], [1.0, -1.0])
    """
    with _reading(Path(path), "one sample a line in libsvm format"):
        X, y = load_svmlight_file(str(path))
    return Bunch(data=sp.csr_array(X), target=y, feature_names=None)


def _require(data_dir: StrPath | None, name: str, content: str) -> Path:
    if data_dir is None:
        raise MissingDataError(
            f"{name} is needed ({content}). Pass the folder of the data: data_dir of load, or --data DIR (or the "
            "environment variable RAREFY_DATA) of the command line."
        )
    path = Path(data_dir) / name
    if not path.exists():
        raise MissingDataError(f"{path} is missing. It holds {content}.")
    if path.suffix == ".npz" and not zipfile.is_zipfile(path):
        raise MissingDataError(f"{path} is damaged, or no archive of arrays. It should hold {content}.")
    note_files({name: fingerprint(path)})
    return path


@contextmanager
def _reading(path: Path, content: str) -> Iterator[None]:
    """Turn whatever goes wrong while a file is read into an error that names the file."""
    try:
        yield
    except MissingDataError:
        raise
    except FileNotFoundError as error:
        raise MissingDataError(f"{error.filename or path} is missing. It should hold {content}.") from error
    except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise MissingDataError(
            f"{path} is damaged, or not what it should be ({type(error).__name__}: {error}). It should hold {content}."
        ) from error
