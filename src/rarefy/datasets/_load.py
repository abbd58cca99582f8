"""Data sets from files: found by name, checked, and explained when they are missing."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_svmlight_file
from sklearn.utils import Bunch

from rarefy.exceptions import MissingDataError


@dataclass(frozen=True)
class _Source:
    path: str
    shape: tuple[int, int]
    counts: dict
    where: str


_TEXT = {
    "movie_reviews": _Source(
        "text/movie_review_polarity",
        (2000, 38885),
        {0: 1000, 1: 1000},
        "Polarity data set 2.0 of Pang and Lee (2004), counts of words",
    ),
    "20newsgroups": _Source(
        "text/20news_nohdr",
        (18846, 58375),
        {},
        "20 Newsgroups by date (scikit-learn's fetch_20newsgroups), headers removed",
    ),
    "rcv1_ccat": _Source(
        "text/rcv1_subsets_ccat",
        (27613, 47236),
        {1: 12473},
        "RCV1-v2 (scikit-learn's fetch_rcv1), documents with the label CCAT or without",
    ),
}

_MNIST_WHERE = (
    "MNIST of LeCun, Cortes and Burges as arrays of bytes X_train, y_train, X_test, y_test (scikit-learn's "
    "fetch_openml('mnist_784') has all 70 000 digits, the last 10 000 of them for testing)"
)
_MNIST = {
    "train": _Source(
        "mnist.npz",
        (60000, 784),
        {0: 5923, 1: 6742, 2: 5958, 3: 6131, 4: 5842, 5: 5421, 6: 5918, 7: 6265, 8: 5851, 9: 5949},
        _MNIST_WHERE,
    ),
    "test": _Source(
        "mnist.npz",
        (10000, 784),
        {0: 980, 1: 1135, 2: 1032, 3: 1010, 4: 982, 5: 892, 6: 958, 7: 1028, 8: 974, 9: 1009},
        _MNIST_WHERE,
    ),
}


def load(name, data_dir):
    """Load a data set by name from a folder, and check that it is the right one.

    Parameters
    ----------
    name : str
        "movie_reviews", "20newsgroups", "rcv1_ccat", "mnist", or "techtc:ID1_ID2" for one set of TechTC-300 in its own
        format.
    data_dir : path
        Folder with the files.

    Returns
    -------
    data : Bunch
        `data` (CSR), `target`, `feature_names` (None where the words are not known). MNIST is dense, bytes from 0 to
        255, and has `test_data` and `test_target` as well.

    Raises
    ------
    MissingDataError
        Says which file is missing and where the data come from.
    """
    if name.startswith("techtc:"):
        return load_techtc(
            _require(
                data_dir,
                f"techtc300/Exp_{name.removeprefix('techtc:')}",
                "TechTC-300 of Davidov, Gabrilovich and Markovitch (2004)",
            )
        )
    if name == "mnist":
        return _load_mnist(data_dir)
    if name not in _TEXT:
        known = ", ".join([*_TEXT, "mnist"])
        raise MissingDataError(f"There is no data set {name!r}; known are {known} and techtc:ID1_ID2.")
    source = _TEXT[name]
    X = sp.csr_array(sp.load_npz(_require(data_dir, f"{source.path}_X.npz", source.where)))
    with np.load(_require(data_dir, f"{source.path}_y.npz", source.where), allow_pickle=False) as labels:
        y = labels["y"]
        words = np.char.decode(labels["vocab"], "utf-8", "replace") if "vocab" in labels.files else None
    _check(name, source, X, y, data_dir)
    return Bunch(data=X.astype(np.float64), target=y, feature_names=words)


def _load_mnist(data_dir):
    parts = []
    for part, source in _MNIST.items():
        with np.load(_require(data_dir, source.path, source.where), allow_pickle=False) as arrays:
            absent = [name for name in (f"X_{part}", f"y_{part}") if name not in arrays.files]
            if absent:
                raise MissingDataError(
                    f"{source.path} in {data_dir} has no {' and no '.join(absent)}. It should hold {source.where}."
                )
            X, y = arrays[f"X_{part}"], arrays[f"y_{part}"]
        _check(f"mnist ({part})", source, X, y, data_dir)
        parts.append((X, y))
    (X, y), (X_test, y_test) = parts
    return Bunch(data=X, target=y, test_data=X_test, test_target=y_test, feature_names=None)


def _check(name, source, X, y, data_dir):
    """The shape and the class counts say whether it is the right data set."""
    counts = {label.item(): int(count) for label, count in zip(*np.unique(y, return_counts=True), strict=True)}
    if X.shape != source.shape or any(counts.get(label) != count for label, count in source.counts.items()):
        raise MissingDataError(
            f"{source.path} in {data_dir} holds {X.shape} with class counts {counts}; {name} has {source.shape} and "
            f"{source.counts}. It is another version of the data."
        )


def load_techtc(folder):
    """Load one set of TechTC-300: `vectors.dat` in svmlight format and `features.idx` with the words.

    Parameters
    ----------
    folder : path
        The folder `Exp_ID1_ID2` of the set.

    Returns
    -------
    data : Bunch
        `data` (CSR counts), `target` (-1 and 1), `feature_names`.
    """
    folder = Path(folder)
    lines = (folder / "features.idx").read_text(encoding="utf-8", errors="replace").splitlines()
    pairs = [line.split(maxsplit=1) for line in lines if line.strip() and not line.startswith("#")]
    words = {int(number): word for number, word in pairs}
    X, y = load_svmlight_file(str(folder / "vectors.dat"), n_features=max(words) + 1, zero_based=True)
    index = np.array(sorted(words))
    return Bunch(
        data=sp.csr_array(X)[:, index], target=y, feature_names=np.array([words[i] for i in index], dtype=object)
    )


def load_libsvm(path):
    """Load a file in libsvm format.

    Parameters
    ----------
    path : path
        The file, also compressed (.gz, .bz2).

    Returns
    -------
    data : Bunch
        `data` (CSR), `target`, `feature_names` (None).
    """
    X, y = load_svmlight_file(str(path))
    return Bunch(data=sp.csr_array(X), target=y, feature_names=None)


def _require(data_dir, name, where):
    if data_dir is None:
        raise MissingDataError(f"{name} is needed ({where}). Say where the data are: --data DIR, or RAREFY_DATA.")
    path = Path(data_dir) / name
    if not path.exists():
        raise MissingDataError(f"{path} is missing. It holds {where}.")
    return path
