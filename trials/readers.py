"""Changed bytes into every reader: tables of all formats, certificates of all kinds, models and folders of blocks.

Each file that is read ends in a value that can be used or in an error of the library. Everything else is an escape.
`python trials/readers.py SECONDS [READER ...]` lets atheris change the bytes instead, by what our code does with them.
"""

import contextlib
import functools
import gc
import io
import json
import random
import signal
import sys
import tempfile
import types
import warnings
from collections import Counter
from pathlib import Path

import numpy as np

import rarefy
from properties.test_bad_tables import GOOD, assert_valid
from rarefy.certificates import Certificate, KernelCertificate, RecallCertificate, SubsetCertificate
from rarefy.datasets import load_libsvm
from rarefy.exceptions import RarefyError, TableError
from rarefy.ranking import RankRC, ScoreCertificate, certify_scores, certify_threshold
from rarefy.selection import BestSubsetSelector, BSSSelector
from rarefy.tables import read_table
from rarefy.workflows.certificate_files import read_certificate
from rarefy.workflows.models import load_model

FILES = 25
"""Of one piece."""
SECONDS = 20.0
"""After so long a file of a few kilobytes counts as one that does not end."""
_TOKENS = (
    *(b"nan", b"inf", b"-1", b"1e400", b"null", b"{}", b"[]", b'""', b"\0", b"\xff\xff\xff\xff", b"\x00\x00\x00\x80"),
    *(b"99999999999999999999", b"true", b'"a"', b",", b"\n", b"\r", b'"', b"\x7f\xff\xff\xff", b"../", b"PK\x03\x04"),
)


class DoesNotEndError(BaseException):
    """Not an Exception, so that nobody catches it."""


def data():
    """Rows, labels."""
    rng = np.random.default_rng(0)
    y = np.arange(16) % 4 == 0
    return rng.standard_normal((16, 5)) + y[:, None], y.astype(int)


@functools.cache
def readers():
    """Name, good bytes, and what reads them from a file."""
    X, y = data()
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as place:
        warnings.simplefilter("ignore")
        folder = Path(place)
        K = X @ X.T
        ranker = RankRC().fit(X, y)
        certificates = {
            "certificate": (Certificate, BSSSelector(3).fit(X).certificate_, (X,)),
            "certificate of labels": (Certificate, rarefy.certify(X, [0, 1], y=y, C=1.0), (X, y)),
            "subset": (SubsetCertificate, BestSubsetSelector(2, max_nodes=0).fit(X, y).certificate_, (X, y)),
            "kernel": (KernelCertificate, rarefy.certify_kernels(K + np.eye(16), K), (K + np.eye(16), K)),
            "recall": (RecallCertificate, certify_threshold(X[:, 0], y, recall=0.5, confidence=0.6), ()),
            "scores": (ScoreCertificate, certify_scores(ranker, X, y), (X, y)),
        }
        found = {f"table {name}": (name, content, _table) for name, content in GOOD.items()}
        found["libsvm"] = ("t.svm", GOOD["good.svm"], load_libsvm)
        for name, (kind, made, given) in certificates.items():
            content = json.dumps(made.to_dict()).encode()
            found[name] = ("c.json", content, functools.partial(_certificate, kind, given))
        found |= _files_of_commands(folder)
        found |= _blocks(folder)
    return found


def _files_of_commands(folder):
    from click.testing import CliRunner

    from rarefy.cli._app import app

    (folder / "t.csv").write_bytes(_csv())
    table = str(folder / "t.csv")
    for words in (
        ("rank", table, "--target", "y", "--save", str(folder / "m.skops")),
        ("select", table, "--target", "y", "--keep", "1", "--certificate", str(folder / "c.json")),
    ):
        result = CliRunner().invoke(app, words)
        if result.exit_code:
            raise RuntimeError(result.output)
    return {
        "model": ("m.skops", (folder / "m.skops").read_bytes(), load_model),
        "certificate of a command": ("c.json", (folder / "c.json").read_bytes(), read_certificate),
    }


def _csv():
    rng = np.random.default_rng(0)
    rows = [f"{a:.3f},{b:.3f},{'pq'[i % 2]}" for i, (a, b) in enumerate(rng.standard_normal((60, 2)))]
    return "\n".join(["a,b,y", *rows]).encode() + b"\n"


def _blocks(folder):
    """Each of the files of a folder of blocks is changed, the others are good."""
    X, y = data()
    rarefy.blocks.from_arrays(folder / "b", [(X, y)])
    whole = {path.name: path.read_bytes() for path in (folder / "b").iterdir()}
    return {f"blocks {name}": (name, whole[name], functools.partial(_folder, whole)) for name in whole}


def _folder(whole, path):
    folder = path.parent / "blocks"
    folder.mkdir(exist_ok=True)
    for name, content in whole.items():
        (folder / name).write_bytes(path.read_bytes() if name == path.name else content)
    found = rarefy.blocks.open(folder)
    for _, block in found.rows().blocks():
        block.sum()
    found.check()


def _table(path):
    try:
        table = read_table(path)
    except TableError:
        raise
    assert_valid(table)


def _certificate(kind, given, path):
    try:
        values = json.loads(path.read_bytes())
    except (ValueError, RecursionError):  # nothing that could be passed
        return
    made = kind.from_dict(values)
    made.verify(*given)
    str(made), made._repr_html_(), json.dumps(made.to_dict())


def changed(content, draw):
    """Bytes with some changes: flipped, cut, doubled, moved, and tokens put in."""
    piece = bytearray(content)
    for _ in range(draw.choice([1, 1, 2, 3, 8])):
        a = draw.randrange(len(piece) + 1)
        b = min(len(piece), a + draw.choice([1, 2, 4, 16, 200]))
        how = draw.randrange(7)
        if how == 0 and a < len(piece):
            piece[a] ^= 1 << draw.randrange(8)
        elif how == 1 and a < len(piece):
            piece[a] = draw.randrange(256)
        elif how == 2:
            del piece[a:b]
        elif how == 3:
            piece[a:a] = piece[a:b] * draw.choice([1, 2, 50])
        elif how == 4:
            piece[a:b] = draw.choice(_TOKENS)
        elif how == 5:
            piece[a:a] = draw.choice(_TOKENS)
        elif draw.random() < 0.3:
            del piece[a:]
    return bytes(piece)


def escape(name, content):
    """What a file leads to that is no value and no error of the library; None if nothing does."""
    ending, _, read = readers()[name]
    with tempfile.TemporaryDirectory() as place, warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        path = Path(place) / ending
        path.write_bytes(content)
        before = signal.signal(signal.SIGALRM, _too_long)
        signal.setitimer(signal.ITIMER_REAL, SECONDS)
        try:
            read(path)
        except RarefyError as error:
            return None if str(error) else "an error without a word"
        except DoesNotEndError:
            return "does not end"
        except Exception as error:
            return f"{type(error).__name__}: {str(error)[:200]}"
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            signal.signal(signal.SIGALRM, before)
    return None


def _too_long(*_):
    raise DoesNotEndError


def reader_piece(seed):
    """(counts, what is wrong) of some files for one reader."""
    draw = random.Random(seed)
    names = sorted(readers())
    name = names[seed % len(names)]
    good = readers()[name][1]
    wrong = [f"{name}: good bytes lead to {found}" for found in [escape(name, good)] if found]
    for i in range(FILES):
        content = changed(good, draw)
        found = escape(name, content)
        if found is not None:
            wrong.append(f"{name} (seed {seed}, file {i}): {found}, {content[:200]!r}")
    return Counter({"files": FILES, "violated": len(wrong)}), wrong


def main(seconds, names=()):
    """atheris changes the bytes of these readers, or all; those that escape are printed with their traceback."""
    import atheris  # not a dependency: pip install atheris

    names = list(names) or sorted(readers())
    ours = [one for one in gc.get_objects() if isinstance(one, types.FunctionType)]
    for function in ours:
        if function.__module__ and function.__module__.split(".")[0] == "rarefy":
            atheris.instrument_func(function)

    def one(data):
        if not data:
            return
        name = names[data[0] % len(names)]
        with contextlib.redirect_stderr(io.StringIO()):
            found = escape(name, data[1:])
        if found is not None:
            print(f"ESCAPE {name}: {found} {data[1:]!r}", flush=True)
            raise RuntimeError(found)

    with tempfile.TemporaryDirectory() as corpus:
        for i, name in enumerate(names):
            (Path(corpus) / str(i)).write_bytes(bytes([i]) + readers()[name][1])
        atheris.Setup([sys.argv[0], f"-max_total_time={seconds}", "-max_len=20000", "-rss_limit_mb=4096", corpus], one)
        atheris.Fuzz()


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
