"""A folder of text files: documents by words, with sub-folders for classes."""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np

from rarefy.exceptions import TableError
from rarefy.tables._limits import LARGEST
from rarefy.tables._messages import counted, listed, one_line, quoted
from rarefy.tables._sample import sample_note, sampled_rows
from rarefy.tables._table import LABELS, Table


def read_documents(folder: Path, sample: int | None, rng: np.random.Generator) -> Table:
    """Read documents as tf-idf weights of their words; the sub-folders are the classes if there are any."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    name = one_line(folder)
    files, labels = _find(folder, name)
    rows = sampled_rows(len(files), sample, rng)
    chosen = files if rows is None else [files[i] for i in rows]
    total = sum(file.stat().st_size for file in chosen)
    if total > LARGEST:
        raise TableError(f"{name} holds {total} bytes of text; at most {LARGEST} are read. Read a sample of it.")
    vectorizer = TfidfVectorizer()
    try:
        X = vectorizer.fit_transform(map(_text, chosen))
    except ValueError as error:
        if isinstance(error, TableError):
            raise
        raise TableError(f"{name} holds no words of two or more letters; documents with words are needed.") from error
    target = None if labels is None else np.array(labels if rows is None else [labels[i] for i in rows])
    table = Table.from_arrays(X, vectorizer.get_feature_names_out(), labels=target, source=name)
    table = replace(table, idf=np.asarray(vectorizer.idf_, dtype=np.float64))
    notes = [f"Values are tf-idf weights of {counted(X.shape[1], 'word')} in {counted(X.shape[0], 'document')}."]
    if labels is not None:
        notes.append(f"The sub-folders are the target: {listed(sorted(set(labels)))}; its name is {quoted(LABELS)}.")
    return replace(table, notes=(*sample_note(len(files), rows), *notes, *table.notes))


def _find(folder: Path, name: str) -> tuple[list[Path], list[str] | None]:
    """Files in order, and for each its sub-folder, unless there are none."""
    entries = sorted(entry for entry in folder.iterdir() if not entry.name.startswith("."))
    folders = [entry for entry in entries if entry.is_dir()]
    loose = [entry for entry in entries if entry.is_file()]
    if folders and loose:
        raise TableError(
            f"{name} holds {counted(len(folders), 'folder')} and {counted(len(loose), 'file')} beside them, such as "
            f"{listed([loose[0].name])}; put every document into the folder of its class, or all into one folder."
        )
    if folders:
        pairs = [(file, one.name) for one in folders for file in _files_below(one)]
        files, labels = [file for file, _ in pairs], [label for _, label in pairs]
    else:
        files, labels = loose, None
    if not files:
        raise TableError(f"{name} holds no files; a folder of text files, or of folders of them, is read.")
    return files, labels


def _files_below(folder: Path) -> list[Path]:
    found = []
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(one for one in folders if not one.startswith("."))
        paths = (Path(place) / file for file in sorted(files) if not file.startswith("."))
        found += [path for path in paths if path.is_file()]
    return found


def _text(file: Path) -> str:
    try:
        content = file.read_bytes()
    except OSError as error:
        raise TableError(f"{one_line(file)} cannot be read ({one_line(error, 100)}); change or remove it.") from error
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return content.decode("utf-16", "replace")
    if b"\0" in content:
        raise TableError(f"{one_line(file)} is not text; a folder of text files is read. Remove it from the folder.")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("latin-1")
