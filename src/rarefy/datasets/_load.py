"""Data sets from files: found by name, checked, and explained when they are missing."""

import hashlib
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
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

_RARE = {
    name: _Source(f"rare/{name}.npz", shape, {1: rare}, where)
    for name, shape, rare, where in (
        ("abalone_19", (4177, 10), 32, "Abalone of the UCI repository, 19 rings against the rest"),
        ("abalone_7", (4177, 10), 391, "Abalone of the UCI repository, 7 rings against the rest"),
        ("coil_2000", (9822, 85), 586, "CoIL Challenge 2000 (KDD archive, UCI repository), both files"),
        ("ecoli", (336, 7), 35, "Ecoli of the UCI repository, imU against the rest"),
        ("libras_move", (360, 90), 24, "Libras movement of the UCI repository, class 1 against the rest"),
        ("mammography", (11183, 6), 260, "Mammography of Woods and others (1993), microcalcifications"),
        ("oil", (937, 49), 41, "Oil spills of Kubat, Holte and Matwin (1998)"),
        ("page_blocks0", (5472, 10), 559, "Page blocks as in KEEL (page-blocks0), all but text against text"),
        ("scene", (2407, 294), 177, "Scene of LIBSVM's data page, scenes with more than one label"),
        ("sick_euthyroid", (3163, 42), 293, "Sick euthyroid of the UCI repository, nominal features as indicators"),
        ("solar_flare_m0", (1389, 32), 68, "Solar flares of the UCI repository, any M class flare, as indicators"),
        (
            "thyroid_sick",
            (3772, 52),
            231,
            "Thyroid disease (sick) of the UCI repository, nominal features as indicators",
        ),
        ("vowel0", (988, 10), 90, "Vowel as in KEEL (vowel0), the first vowel against the rest"),
        ("yeast_me2", (1484, 8), 51, "Yeast of the UCI repository, ME2 against the rest"),
    )
}

_ORDINAL = {
    "car_evaluation": _Source(
        "ordinal/car_evaluation.npz",
        (1728, 21),
        {0: 1210, 1: 384, 2: 69, 3: 65},
        "Car evaluation of the UCI repository, features as indicators, levels from unacceptable (0) to very good (3)",
    ),
    "wine_red": _Source(
        "ordinal/wine_red.npz",
        (1599, 11),
        {3: 10, 4: 53, 5: 681, 6: 638, 7: 199, 8: 18},
        "Wine quality (red) of the UCI repository, levels from 3 to 8",
    ),
}

_KDD_WHERE = (
    "KDD Cup 1999 as arrays X_train, y_train, X_test, y_test: the 10 % training file and the corrected test file, "
    "protocol, service and flag (columns 1 to 3) as numbers, y from 0 (normal) over 1 (dos), 2 (probe) and 3 (r2l) to "
    "4 (u2r)"
)
_KDD = {
    "train": _Source(
        "large/kddcup99_10pct.npz", (494021, 41), {0: 97278, 1: 391458, 2: 4107, 3: 1126, 4: 52}, _KDD_WHERE
    ),
    "test": _Source("large/kddcup99_10pct.npz", (311029, 41), {}, _KDD_WHERE),
}
_UCI = {
    name: _Source(f"uci/{name}.npz", shape, {0: zeros, 1: ones}, f"{title} of the UCI repository, arrays X and y")
    for name, title, shape, zeros, ones in (
        ("sonar", "Connectionist bench (sonar)", (208, 60), 97, 111),
        ("ionosphere", "Ionosphere", (351, 34), 126, 225),
        ("saheart", "South African heart disease", (462, 9), 302, 160),
        ("wdbc", "Breast cancer Wisconsin (diagnostic)", (569, 30), 357, 212),
        ("australian", "Statlog (Australian credit approval)", (690, 14), 383, 307),
        ("german_numeric24", "Statlog (German credit data), 24 numbers a row,", (1000, 24), 700, 300),
    )
}
_MADELON_WHERE = (
    "Madelon of the NIPS 2003 challenge, arrays X_train, y_train and, of its validation rows, X_test, y_test"
)
_MADELON = {
    "train": _Source("uci/madelon.npz", (2000, 500), {0: 1000, 1: 1000}, _MADELON_WHERE),
    "test": _Source("uci/madelon.npz", (600, 500), {0: 300, 1: 300}, _MADELON_WHERE),
}
_IN_PARTS = {"mnist": _MNIST, "kddcup99_10pct": _KDD, "madelon": _MADELON}
_WHOLE = {**_RARE, **_ORDINAL, **_UCI}


def load(name, data_dir):
    """Load a data set by name from a folder, and check that it is the right one.

    Parameters
    ----------
    name : str
        Documents: "movie_reviews", "20newsgroups", "rcv1_ccat", or "techtc:ID1_ID2" for one set of TechTC-300 in its
        own format. A rare class: "abalone_19", "abalone_7", "coil_2000", "ecoli", "libras_move", "mammography", "oil",
        "page_blocks0", "scene", "sick_euthyroid", "solar_flare_m0", "thyroid_sick", "vowel0", "yeast_me2". Ordered
        levels: "car_evaluation", "wine_red". Two classes: "sonar", "ionosphere", "saheart", "wdbc", "australian",
        "german_numeric24". In two parts, to learn from and to test with: "mnist", "kddcup99_10pct", "madelon".
    data_dir : path
        Folder with the files.

    Returns
    -------
    data : Bunch
        `data` (CSR for documents, dense otherwise), `target` (1 is the rare class), `feature_names` (None where they
        are not known). Sets in two parts have `test_data` and `test_target` as well. Values are as in the files: not
        scaled, MNIST's bytes from 0 to 255.

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
    if name in _IN_PARTS:
        return _load_parts(name, data_dir)
    if name in _WHOLE:
        X, y = _arrays(name, _WHOLE[name], "X", "y", data_dir)
        return Bunch(data=X, target=y, feature_names=None)
    if name not in _TEXT:
        known = ", ".join([*_TEXT, *_WHOLE, *_IN_PARTS])
        raise MissingDataError(f"There is no data set {name!r}; known are {known} and techtc:ID1_ID2.")
    source = _TEXT[name]
    path = _require(data_dir, f"{source.path}_X.npz", source.where)
    with _reading(path, source.where):
        X = sp.csr_array(sp.load_npz(path))
    path = _require(data_dir, f"{source.path}_y.npz", source.where)
    with _reading(path, f"arrays y and vocab of {source.where}"), np.load(path, allow_pickle=False) as labels:
        y = labels["y"]
        words = np.char.decode(labels["vocab"], "utf-8", "replace") if "vocab" in labels.files else None
    _check(name, source, X, y, data_dir)
    return Bunch(data=X.astype(np.float64), target=y, feature_names=words)


def _load_parts(name, data_dir):
    (X, y), (X_test, y_test) = (
        _arrays(f"{name} ({part})", source, f"X_{part}", f"y_{part}", data_dir)
        for part, source in _IN_PARTS[name].items()
    )
    return Bunch(data=X, target=y, test_data=X_test, test_target=y_test, feature_names=None)


def _arrays(name, source, rows, labels, data_dir):
    """Two arrays of a file of arrays, checked."""
    path = _require(data_dir, source.path, source.where)
    with _reading(path, source.where), np.load(path, allow_pickle=False) as arrays:
        absent = [key for key in (rows, labels) if key not in arrays.files]
        if absent:
            raise MissingDataError(
                f"{source.path} in {data_dir} has no {' and no '.join(absent)}. It should hold {source.where}."
            )
        X, y = arrays[rows], arrays[labels]
    _check(name, source, X, y, data_dir)
    return X, y


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
    with _reading(folder, "features.idx, a number and a word a line, and vectors.dat in svmlight format"):
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
        raise MissingDataError(
            f"{name} is needed ({where}). Say where the data are: data_dir of load, --data DIR of the command line, or "
            "RAREFY_DATA."
        )
    path = Path(data_dir) / name
    if not path.exists():
        raise MissingDataError(f"{path} is missing. It holds {where}.")
    if path.suffix == ".npz" and not zipfile.is_zipfile(path):
        raise MissingDataError(f"{path} is damaged, or no archive of arrays. It should hold {where}.")
    note_files({name: fingerprint(path)})
    return path


@contextmanager
def _reading(path, where):
    """Whatever goes wrong while a file is read is the file's fault, and told as such."""
    try:
        yield
    except MissingDataError:
        raise
    except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise MissingDataError(
            f"{path} is damaged, or not what it should be ({type(error).__name__}: {error}). It should hold {where}."
        ) from error


_opened: ContextVar[dict[str, str] | None] = ContextVar("rarefy_opened_files", default=None)


@contextmanager
def recorded_files() -> Iterator[dict[str, str]]:
    """Names and fingerprints of the files that `load` opens inside this block."""
    found: dict[str, str] = {}
    token = _opened.set(found)
    try:
        yield found
    finally:
        _opened.reset(token)


def note_files(files: dict[str, str]) -> None:
    """Add files to what the surrounding `recorded_files` knows of, if there is one."""
    found = _opened.get()
    if found is not None:
        found.update(files)


def fingerprint(path):
    """A few characters that change with the content of a file or folder; archives know theirs without being read."""
    path, digest = Path(path), hashlib.sha256()
    for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
        if zipfile.is_zipfile(file):
            with zipfile.ZipFile(file) as archive:
                digest.update(repr([(one.filename, one.file_size, one.CRC) for one in archive.infolist()]).encode())
        elif file.is_file():
            digest.update(file.read_bytes())
    return digest.hexdigest()[:20]
