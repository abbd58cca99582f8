"""The command `rarefy convert`: tables of any size as a folder of blocks."""

import shutil
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.console import Console
from rich.markup import escape

import rarefy
from rarefy._files import size_in_words
from rarefy.blocks import BlockFolder, from_arrays
from rarefy.blocks._tables import SAMPLE, make_plan, write_plan
from rarefy.cli import _common as common
from rarefy.exceptions import ParameterError
from rarefy.tables._messages import one_line
from rarefy.tables._table import MAX_CATEGORIES
from rarefy.workflows.reading import Reading
from rarefy.workflows.stored import is_block_folder


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--out", required=True, type=click.Path(file_okay=False, path_type=Path), help="Folder to write.")
@click.option("--target", metavar="COL", help="Column that is stored as the target.")
@click.option("--drop", metavar="COLS", help="Columns to leave out, with commas.")
@click.option("--impute", type=click.Choice(["median"]), help="Fill missing values, by column.")
@click.option("--dtype", type=click.Choice(["float64", "float32"]), default="float64", show_default=True)
@click.option("--format", "form", type=click.Choice(["npy", "zarr"]), default="npy", show_default=True,
              help="Files of numpy, or a Zarr group for other programs.")  # fmt: skip
@click.option("--learn-from", type=click.IntRange(2), default=SAMPLE, show_default=True, metavar="ROWS",
              help="Rows that types, categories and medians are learned from.")  # fmt: skip
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), default=0, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON and nothing else.")
@common.bad_input_exits_2
def convert(
    files: tuple[str, ...],
    out: Path,
    target: str | None,
    drop: str | None,
    impute: str | None,
    dtype: str,
    form: str,
    learn_from: int,
    seed: int,
    as_json: bool,
) -> None:
    """Write FILE, or several with the same columns, as a folder of blocks: data larger than memory.

    FILE is CSV, TSV (also .gz, .zst), Parquet, Arrow or npy. Nothing is read as a whole. After an interruption the same
    command goes on where it stopped. FILE may also be one folder of blocks or Zarr array, to be written in the other
    --format.

    \b
    Example:
      rarefy convert 2024-*.csv --out payments/ --target is_fraud --dtype float32

    Exit codes: 0 done, 2 bad input.
    """
    console, remarks = common.consoles(as_json)
    names = Reading.of_options(files[0], drop, None, seed).drop
    # Tables become files of numpy first, where an interrupted conversion can go on.
    first = out if form == "npy" else out.with_name(f"{out.name}.blocks")
    _check_new(out, form, first)
    with rarefy.config_context(progress=remarks.is_terminal):
        if is_block_folder(files[0]):
            data, code = _again(files, out, form, target=target, drop=drop, impute=impute)
        elif all(_is_array(file) for file in files):
            data, code = _arrays(files, first, target, dtype)
        else:
            remarks.print(f"Looking at {escape(one_line(files[0]))} …", highlight=False)
            plan = make_plan(files, target, names, impute, learn_from, MAX_CATEGORIES, seed)
            for note in plan.notes:
                remarks.print(escape(note), highlight=False)
            data = write_plan(plan, first, dtype)
            code = _code(files, first, target, names, impute, dtype, learn_from, seed, plan.files[0].form)
        if isinstance(data, BlockFolder) and data.folder == first.resolve() != out.resolve():
            data, code = data.write(out, format="zarr"), f'{code}\ndata = data.write({str(out)!r}, format="zarr")'
            shutil.rmtree(first)
    if as_json:
        common.print_json(_summary(data))
        return
    _print(console, data)
    common.print_code(console, code)
    common.written(remarks, out)


def _check_new(out: Path, form: str, first: Path) -> None:
    """Before the work, not after it."""
    if form == "zarr" and out.exists():
        raise ParameterError(f"{out} is there already. Choose another name, or delete it first.")
    if form == "zarr" and is_block_folder(str(first)):
        raise ParameterError(
            f"{first} has all blocks of a conversion that was interrupted: write them as {out} with rarefy convert "
            f"{first} --out {out} --format zarr, or delete them."
        )


def _again(files: tuple[str, ...], out: Path, form: str, **given: str | None) -> tuple[Any, str]:
    """Blocks that are written already, in the other format."""
    wrong = [f"--{name}" for name, value in given.items() if value is not None]
    if wrong or len(files) > 1:
        what = ", ".join(wrong) or "another FILE"
        raise ParameterError(f"{files[0]} is a folder of blocks: it is written again as it is, without {what}.")
    data = rarefy.blocks.open(files[0])
    code = f"import rarefy\n\ndata = rarefy.blocks.open({files[0]!r}).write({str(out)!r}, format={form!r})"
    return data.write(out, format=form), code


def _is_array(file: str) -> bool:
    try:
        with open(file, "rb") as opened:
            return opened.read(6) == b"\x93NUMPY"
    except OSError:  # said later, in the words for tables
        return False


def _arrays(files: tuple[str, ...], out: Path, target: str | None, dtype: str) -> tuple[BlockFolder, str]:
    """Arrays of numpy are copied from the files, bit by bit."""
    if target is not None:
        raise ParameterError("Arrays have no named columns: --target cannot be one of them.")
    loaded = (np.load(file, mmap_mode="r", allow_pickle=False) for file in files)
    made = f"np.load(file, mmap_mode='r') for file in {list(files)!r}"
    call = f"rarefy.blocks.from_arrays({str(out)!r}, ({made}), dtype={dtype!r})"
    code = f"import numpy as np\nimport rarefy\n\ndata = {call}"
    return from_arrays(out, loaded, dtype=dtype), code


def _code(
    files: tuple[str, ...], out: Path, target: str | None, drop: tuple[str, ...], impute: str | None, dtype: str,
    learn_from: int, seed: int, form: str,
) -> str:  # fmt: skip
    """The same in Python: only what differs from the defaults."""
    first = repr(files[0]) if len(files) == 1 else repr(list(files))
    given: dict[str, object] = {"target": target, "drop": list(drop) or None, "impute": impute}
    given |= {"dtype": dtype if dtype != "float64" else None}
    given |= {"sample_rows": learn_from if learn_from != SAMPLE else None, "random_state": seed or None}
    options = "".join(f", {name}={value!r}" for name, value in given.items() if value is not None)
    function = "from_csv" if form == "csv" else "from_parquet"
    return f"import rarefy\n\ndata = rarefy.blocks.{function}({first}, {str(out)!r}{options})"


def _summary(data: Any) -> dict[str, object]:
    return {
        "n_rows": data.shape[0],
        "n_columns": data.shape[1],
        "columns": None if data.columns is None else list(data.columns),
        "target": data.target_name,
        "dtype": data.dtype.name,
        "n_blocks": data.n_blocks,
        "n_bytes": data.n_bytes,
        "fingerprint": data.fingerprint,
    }


def _print(console: Console, data: Any) -> None:
    n, d = data.shape
    console.print(
        f"[bold]{n} rows and {d} columns[/bold] in {data.n_blocks} blocks of {data.dtype.name}, "
        f"{size_in_words(data.n_bytes)}"
        + (f"; target {escape(repr(one_line(data.target_name)))}" if data.target_name else ""),
        highlight=False,
    )
