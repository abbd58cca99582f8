"""Columns of data in blocks written to a file, block after block, or to another folder of blocks."""

import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.lib import format as npy
from numpy.typing import NDArray

from rarefy._files import atomic_file
from rarefy.blocks import from_arrays
from rarefy.blocks._data import BlockData
from rarefy.workflows.labels import whole_labels


def write_stored(X: BlockData, names: list[str], path: Path, target: str | None) -> None:
    """Write columns of data in blocks, and (if it is named) their target beside them; the ending says how.

    Without an ending it is a folder of blocks, which always has the target in it.
    """
    if not path.suffix:
        labels = X.target
        pairs = ((block, None if labels is None else labels[rows]) for rows, block in _blocks(X, dense=False))
        items = (block if y is None else (block, y) for block, y in pairs)
        from_arrays(path, items, columns=names, target_name=getattr(X, "target_name", None))
        return
    y = None if target is None or X.target is None else whole_labels(X.target)
    if path.suffix == ".npz":
        _write_npz(X, names, path, y)
        return
    write_frames(_frames(X, names, target, y), path)


def write_frames(frames: Iterator[Any], path: Path) -> None:
    """Write data frames that come one after the other as one table: CSV, or Parquet with their rows in order."""
    if path.suffix == ".parquet":
        _write_parquet(frames, path)
        return
    with atomic_file(path) as file:
        for number, frame in enumerate(frames):
            frame.write_csv(file, include_header=number == 0, separator="\t" if path.suffix == ".tsv" else ",")


def _blocks(X: BlockData, *, dense: bool = True) -> Iterator[tuple[slice, Any]]:
    start = 0
    for block in X.blocks():
        rows = slice(start, start + block.shape[0])
        yield rows, block.toarray() if dense and sp.issparse(block) else block
        start = rows.stop


def _frames(X: BlockData, names: list[str], target: str | None, y: NDArray[Any] | None) -> Iterator[Any]:
    import polars as pl  # an extra

    for rows, block in _blocks(X):
        columns = {name: block[:, j] for j, name in enumerate(names)}
        yield pl.DataFrame(columns if y is None else columns | {str(target): y[rows]})


def _write_parquet(frames: Iterator[Any], path: Path) -> None:
    """Parts first, since a file of Parquet has to be written in one go; then all of them as one."""
    import polars as pl

    with _beside(path) as folder:
        parts = []
        for number, frame in enumerate(frames):
            parts.append(folder / f"{number:06d}.parquet")
            frame.write_parquet(parts[-1])
        pl.scan_parquet(parts).sink_parquet(folder / "whole.parquet", maintain_order=True)
        (folder / "whole.parquet").replace(path)


@contextmanager
def _beside(path: Path) -> Iterator[Path]:
    """A folder on the disk of a file, gone at the end."""
    with tempfile.TemporaryDirectory(prefix=f".{path.name[:50]}.", dir=path.parent) as folder:
        yield Path(folder)


def _write_npz(X: BlockData, names: list[str], path: Path, y: NDArray[Any] | None) -> None:
    with atomic_file(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, allowZip64=True) as archive:
        with archive.open("X.npy", "w", force_zip64=True) as member:
            about = {"descr": npy.dtype_to_descr(X.dtype), "fortran_order": False, "shape": X.shape}
            npy.write_array_header_1_0(member, about)
            for _, block in _blocks(X):
                member.write(np.ascontiguousarray(block).tobytes())
        for name, values in {"names": np.array(names, dtype=str), "y": y}.items():
            if values is not None:
                with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                    npy.write_array(member, values, allow_pickle=False)
