"""Malformed inputs through the commands: each ends in one line, exit code 2 and no output file, or in a whole result.

The corpus has what the tests of the readers refuse, tables that can be read and are of no use, damaged files of every
format (also models and certificates), and places that are no files. Counted as wrong are raw errors, other exit codes,
more than one line that begins with "Error", outputs beside an error, files that are left under a temporary name, and
an exit code 0 for what has to be refused.
"""

import gzip
import io
import itertools
import os
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from click.testing import CliRunner

from properties.test_bad_tables import BAD, GOOD, zstd_block, zstd_frame
from rarefy.cli._app import app

MAIN = "import sys; from rarefy.cli import main; main()"
WITHOUT_RIGHTS = """
import os, sys, tempfile
from click.testing import CliRunner
from rarefy.cli._app import app
with tempfile.TemporaryDirectory() as folder:  # once with all rights, so that everything is imported
    words = ["select", {table!r}, "--target", "y", "--report", folder + "/r.html"]
    assert CliRunner().invoke(app, words).exit_code == 0
if os.geteuid() == 0:  # root may read and write everything, whatever the mode says
    os.setegid(65534)
    os.seteuid(65534)
app.main(sys.argv[1:], prog_name="rarefy")
"""
ENDINGS = {"--out": "out.csv", "--report": "r.html", "--save": "m.skops", "--certificate": "c.json"}
OUTPUTS = {
    "select": ("--out", "--report", "--save", "--certificate"),
    "certify": ("--certificate",),
    "rank": ("--report", "--save"),
    "classify": ("--save",),
    "score": ("--out",),
    "report": ("--out",),
    "verify": (),
}


@dataclass(frozen=True)
class Case:
    """One input: its kind, the name of its file, what the file holds, and whether it has to be refused."""

    kind: str
    name: str
    content: bytes
    refused: bool = True


def cells(rows, header="a,b,y"):
    return "\n".join([header, *rows]).encode() + b"\n"


def useless_tables(rng):
    """Tables that can be read and of which nothing, or little, can be made."""
    n = 30
    y = [("p", "q")[i % 2] for i in range(n)]
    numbers = rng.standard_normal((n, 2)).round(3)
    lines = [f"{a},{b},{label}" for (a, b), label in zip(numbers, y, strict=True)]
    wide = [f"gène {i} 😀 \t x" for i in range(9_999)]
    many = [",".join(map(str, rng.integers(0, 9, 9_999))) + f",{y[i]}" for i in range(12)]
    found = {
        "one class": (cells([f"{a},{b},p" for a, b in numbers]), True),
        "all missing": (cells([f"{a},,{label}" for (a, _), label in zip(numbers, y, strict=True)]), True),
        "all of all missing": (cells([f",,{label}" for label in y]), True),
        "target missing": (cells([f"{a},{b}," for a, b in numbers]), True),
        "target partly missing": (cells([*lines[:-1], "1,2,"]), True),
        "1e308": (cells([f"{1e308 * (-1) ** i},{i},{y[i]}" for i in range(n)]), True),
        "1e-308": (cells([f"{1e-308 * i},{i},{y[i]}" for i in range(n)]), False),
        "beyond double": (cells([*lines, "1e999,2,p"]), True),
        "non-finite": (cells([*lines, "inf,2,p", "-inf,3,q"]), True),
        "not a number": (cells([*lines, "nan,2,p"]), True),
        "mixed types": (cells([*(f"{i},{i}.5,{y[i]}" for i in range(n)), "oops,2020-01-01,p"]), True),
        "dates": (cells([f"2020-01-{1 + i % 28:02d},{i},{y[i]}" for i in range(n)]), True),
        "free text": (cells([f"1,some words number {i},{y[i]}" for i in range(n)]), True),
        "constant": (cells([f"1,1,{label}" for label in y]), False),
        "duplicate names": (cells(lines, "a,a,y"), False),
        "duplicate target": (cells(lines, "y,b,y"), False),
        "one row": (cells(lines[:1]), True),
        "two rows": (cells(lines[:2]), False),
        "no other column": ("\n".join(["y", *y]).encode(), True),
        "byte order mark": (b"\xef\xbb\xbf" + cells(lines), False),
        "UTF-16": (cells(lines).decode().encode("utf-16"), False),
        "Latin-1": (cells([line.replace("p", "é") for line in lines]).decode().encode("latin-1"), False),
        "carriage returns": (cells(lines).replace(b"\n", b"\r"), False),
        "NUL bytes": (cells([*lines, "1,\0,p"]), True),
        "all zero": (cells([f"0,0,{label}" for label in y]), False),
        "wide": ("\n".join([",".join([*wide, "y"]), *many]).encode(), False),
        "huge header": (b"a" * 3_000_000 + b",b,y\n" + "\n".join(lines).encode(), False),
        "header of commas": (b"," * 200_000 + b"\n1,2,3\n", True),
        "quotes": (cells(['"' * 1001 + f",{i},p" for i in range(3)]), True),
    }
    for kind, (content, refused) in found.items():
        yield Case(kind, f"{kind}.csv", content, refused)


def damaged_files(rng, number):
    """Truncated files, and files with changed bytes, of every format."""
    frame = pl.DataFrame({"a": rng.standard_normal(40), "b": rng.standard_normal(40), "y": ["p", "q"] * 20})
    text = frame.write_csv().encode()
    buffers = {"parquet": io.BytesIO(), "arrow": io.BytesIO()}
    frame.write_parquet(buffers["parquet"])
    frame.write_ipc(buffers["arrow"])
    whole = {f"t.{name}": buffer.getvalue() for name, buffer in buffers.items()}
    whole |= {"t.csv": text, "t.csv.gz": gzip.compress(text), "t.csv.zst": zstd_frame(zstd_block(text))}
    whole |= {name: GOOD[name] for name in ("good.npz", "sparse.npz", "good.npy", "good.mtx", "good.svm")}
    for i in range(number):
        name = list(whole)[i % len(whole)]
        good = whole[name]
        if i // len(whole) % 2 == 0:
            yield Case(f"truncated {name}", name, good[: int(rng.integers(0, len(good)))], False)
            continue
        piece = bytearray(good)
        for position in rng.integers(0, len(good), rng.integers(1, 6)):
            piece[position] = rng.integers(256)
        yield Case(f"changed {name}", name, bytes(piece), False)


def call(command, path, folder, made):
    """The words of a command about a table, with all of its outputs."""
    table = {"score": [made["m.skops"], path], "report": [made["m.skops"], path], "verify": [made["c.json"], path]}
    options = {
        "select": ["--target", "y", "--keep", "1"],
        "certify": ["--columns", "a", "--target", "y"],
        "rank": ["--target", "y"],
        "classify": ["--target", "y"],
    }
    outputs = [word for name in OUTPUTS[command] for word in (name, folder / ENDINGS[name])]
    return [command, *table.get(command, [path]), *options.get(command, []), *outputs]


def judge(arguments, result, left, refused):
    """What is wrong about a call; None if nothing is."""
    raw = result.exception is not None and not isinstance(result.exception, SystemExit)
    errors = [line for line in result.stderr.splitlines() if line.startswith("Error")]
    if raw:
        return f"raw error {result.exception!r}"
    if "Traceback" in result.stderr or result.exit_code not in ((0, 1, 2) if arguments[0] == "verify" else (0, 2)):
        return f"exit code {result.exit_code}"
    if result.exit_code == 2 and (len(errors) != 1 or result.stderr.splitlines()[-1] != errors[0]):
        return f"{len(errors)} lines of errors: {result.stderr[-300:]!r}"
    wanted = len(OUTPUTS[arguments[0]]) if result.exit_code == 0 else 0
    if len(left) != wanted or any(path.stat().st_size == 0 for path in left):
        return f"exit code {result.exit_code} and the files {[path.name for path in left]}"
    if refused and result.exit_code != 2:
        return f"accepted with exit code {result.exit_code}"
    return None


def run_case(case, command, made):
    """One call: whether it was refused, and what is wrong."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "out"
        folder.mkdir()
        path = Path(name) / case.name
        path.write_bytes(case.content)
        kinds = (".skops", ".json")
        files = made | ({"m.skops" if case.name.endswith(".skops") else "c.json": path} if path.suffix in kinds else {})
        about = made["table.csv"] if path.suffix in kinds else path
        arguments = [str(word) for word in call(command, about, folder, files)]
        result = CliRunner().invoke(app, arguments)
        fault = judge(arguments, result, list(folder.iterdir()), case.refused)
    return result.exit_code == 2, None if fault is None else f"{case.kind}, {command}: {fault}"


def prepared(folder):
    """A table, a model and a certificate that are as they should be."""
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    frame = pl.DataFrame({"a": rng.standard_normal(60) + y, "b": rng.standard_normal(60), "y": np.where(y, "p", "q")})
    frame.write_csv(folder / "table.csv")
    made = {name: folder / name for name in ("table.csv", "m.skops", "c.json")}
    for words in (
        ("rank", made["table.csv"], "--target", "y", "--save", made["m.skops"]),
        ("select", made["table.csv"], "--target", "y", "--keep", "1", "--certificate", made["c.json"]),
    ):
        assert CliRunner().invoke(app, [str(word) for word in words]).exit_code == 0
    return made


def cases(n, seed, made):
    """At least n calls: a case and a command each."""
    rng = np.random.default_rng(seed)
    of_tables = ("select", "rank", "score", "certify", "classify", "verify", "report")
    for i, (name, (content, _)) in enumerate(BAD.items()):
        yield Case(f"refused by readers: {name}", name, content), of_tables[i % len(of_tables)]
    for case in useless_tables(rng):
        for command in ("select", "rank", "classify", "certify"):
            yield case, command
    for name, command in (("m.skops", "score"), ("m.skops", "report"), ("c.json", "verify")):
        good = made[name].read_bytes()
        for _ in range(30):
            yield Case(f"truncated {name}", f"cut.{name}", good[: int(rng.integers(0, len(good) - 1))]), command
    done = len(BAD) + 4 * len(list(useless_tables(rng))) + 90
    for i, case in enumerate(damaged_files(rng, max(120, n - done))):
        yield case, of_tables[i % len(of_tables)]


def places(folder, made):
    """Names, what is there, and options: places that are no files, cannot be read, or cannot be written to."""
    os.mkfifo(folder / "pipe.csv")
    (folder / "loop.csv").symlink_to(folder / "loop.csv")
    (folder / "folder").mkdir()
    secret, locked = folder / "secret.csv", folder / "locked"
    secret.write_bytes(made["table.csv"].read_bytes())
    secret.chmod(0)
    locked.mkdir(mode=0o555)
    table = made["table.csv"]
    for path in (folder / "pipe.csv", folder / "loop.csv", folder / "folder", folder / "none.csv", "/dev/zero", "a\0b"):
        yield f"place {path}", ("select", path, "--target", "y", "--report", folder / "place.html"), MAIN, {}
    nobody, out = WITHOUT_RIGHTS.format(table=str(table)), Path(tempfile.gettempdir()) / "rarefy-secret.html"
    yield "no permission to read", ("select", secret, "--target", "y", "--report", out), nobody, {}
    yield "no permission to write", ("select", table, "--target", "y", "--report", locked / "r.html"), nobody, {}
    # No file may grow beyond a few bytes: the system refuses what does not fit, as it does on a full disk.
    import resource  # of Unix only

    full = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))}
    for name, output in (("select", "--report"), ("select", "--certificate"), ("rank", "--save")):
        words = name, table, "--target", "y", output, folder / f"full{output}.csv"
        yield f"full disk, {name} {output}", words, MAIN, full


def place_trials():
    """Counts and faults of places, each in a process of its own."""
    counts, wrong = Counter(), []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        made = prepared(folder)
        for kind, words, code_of_call, options in places(folder, made):
            if "\0" in str(words[1]):  # no argument of a program can have it
                result = CliRunner().invoke(app, [str(word) for word in words])
                code, said = result.exit_code, result.stderr
            else:
                found = subprocess.run(
                    [sys.executable, "-c", code_of_call, *map(str, words)],
                    capture_output=True, text=True, check=False, cwd="/", timeout=120, **options,
                )  # fmt: skip
                code, said = found.returncode, found.stderr
            errors = [line for line in said.splitlines() if line.startswith("Error")]
            counts["inputs"] += 1
            counts["refused"] += code == 2
            target = Path(words[-1])
            left = [path.name for path in folder.rglob("*") if path.name.startswith(f".{target.name}")]
            if code != 2 or len(errors) != 1 or "Traceback" in said or left or target.exists():
                counts["violated"] += 1
                wrong.append(f"{kind}: exit code {code}, left {left}, {said[-300:]!r}")
        (folder / "locked").chmod(0o755)
    return counts, wrong


def input_piece(n, seed, start, step):
    """(counts, what is wrong) of every `step`-th of n malformed inputs."""
    counts, wrong = Counter(), []
    with tempfile.TemporaryDirectory() as name:
        made = prepared(Path(name))
        for case, command in itertools.islice(cases(n, seed, made), start, None, step):
            refused, fault = run_case(case, command, made)
            counts["inputs"] += 1
            counts["refused"] += refused
            if fault is not None:
                counts["violated"] += 1
                wrong.append(fault)
    return counts, wrong
