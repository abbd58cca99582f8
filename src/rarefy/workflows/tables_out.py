"""Tables written to files: kept columns and scores."""

import io
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from rarefy._files import write_bytes_atomically
from rarefy.exceptions import ParameterError
from rarefy.workflows.labels import whole_labels
from rarefy.workflows.selection import Selection
from rarefy.workflows.stored_out import write_stored

_ENDINGS = (".csv", ".tsv", ".parquet", ".npz")


def write_columns(columns: dict[str, Any], path: Path) -> None:
    """Write named columns, completely or not at all; the ending says how."""
    import polars as pl  # an extra

    frame = pl.DataFrame(
        {
            name: np.asarray(values).tolist() if np.asarray(values).dtype == object else values
            for name, values in columns.items()
        }
    )
    buffer = io.BytesIO()
    if path.suffix == ".parquet":
        frame.write_parquet(buffer)
    elif path.suffix in (".csv", ".tsv"):
        frame.write_csv(buffer, separator="\t" if path.suffix == ".tsv" else ",")
    elif path.suffix == ".npz":
        arrays: dict[str, Any] = {name: np.asarray(values) for name, values in columns.items()}
        np.savez_compressed(buffer, **arrays)
    else:
        raise ParameterError(f"{path} must end in {', '.join(_ENDINGS)}; got {path.suffix or 'no ending'}.")
    write_bytes_atomically(path, buffer.getvalue())


def check_ending(path: Path | None, stored: bool = False) -> None:
    """Before the work, not after it; of a folder of blocks another folder can be made, whose name has no ending."""
    if stored and path is not None and not path.suffix:
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise ParameterError(f"{path} is there already, and no empty folder; blocks need a folder of their own.")
        return
    if path is not None and path.suffix not in _ENDINGS:
        raise ParameterError(f"{path} must end in {', '.join(_ENDINGS)}; got {path.suffix or 'no ending'}.")


def write_kept(made: Selection, path: Path) -> None:
    """Write the kept columns as they are in the table, and the target beside them."""
    X, p = made.X, made.preprocessing
    order = np.sort(made.kept)
    names = [p.names[j] for j in order]
    if made.stored is not None:
        write_stored(made.stored.keep(order, np.ones(len(order)), tuple(names)), names, path, made.target)
        return
    if path.suffix == ".npz":
        kept = X[:, order]
        dense = kept.toarray() if sp.issparse(kept) else _raw(kept, p, order)
        more = {} if made.y is None else {"y": made.y.astype(str) if made.y.dtype == object else made.y}
        write_columns({"X": dense, "names": np.array(names, dtype=str), **more}, path)
        return
    kept = X[:, order].toarray() if sp.issparse(X) else _raw(X[:, order], p, order)
    columns: dict[str, Any] = {name: kept[:, i] for i, name in enumerate(names)}
    if made.y is not None and made.target is not None:
        columns[made.target] = whole_labels(made.y)
    write_columns(columns, path)


def _raw(X: Any, p: Any, order: Any) -> Any:
    """Before standardising."""
    return X if p.scale is None else X * p.scale[order] + p.mean[order]
