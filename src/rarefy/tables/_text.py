"""Text of a file as blocks of whole records: in UTF-8, with one kind of line break, without a byte order mark."""

import codecs
from collections.abc import Callable, Iterator

from rarefy.exceptions import TableError
from rarefy.tables._dialect import QUOTE
from rarefy.tables._source import Source

_CHUNK = 1 << 23
_LONGEST_RECORD = 1 << 28
_MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
ENCODINGS = {"utf-8-sig": "UTF-8 with a byte order mark", "latin-1": "Latin-1, because it is not UTF-8"}
_KNOWN = {
    b"PK": "a ZIP archive or an Excel workbook; unpack it, or save the sheet as CSV",
    b"%PDF": "a PDF document; save the table as CSV",
    b"\x89HDF": "an HDF5 file; save the table as Parquet or CSV",
    b"SQLite": "a database; export the table as CSV",
    b"\x89PNG": "a picture; a table is needed",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook; save the sheet as CSV",
    b"\x80\x04": "a pickle, which is never opened because it can run any program; save the data as CSV or npz",
    b"\x80\x05": "a pickle, which is never opened because it can run any program; save the data as CSV or npz",
    b"BZh": "compressed with bzip2; decompress it first",
    b"\xfd7zXZ": "compressed with xz; decompress it first",
}
_CONTROL = bytes({*range(32), 127} - {9, 10, 11, 12, 13, 26})


def find_encoding(source: Source) -> str:
    """The encoding that the first bytes state or show; an error if they are not text."""
    head = source.head
    for start, what in _KNOWN.items():
        if head.startswith(start):
            raise TableError(f"{source.name} is {what}.")
    for mark, encoding in _MARKS.items():
        if head.startswith(mark):
            return encoding
    even, odd = head[::2].count(0), head[1::2].count(0)
    if max(even, odd) > 0.3 * len(head) / 2 and min(even, odd) == 0:
        return "utf-16-be" if even > odd else "utf-16-le"
    strange = len(head) - len(head.translate(None, _CONTROL))
    if strange > 0.01 * len(head) and strange > head.count(0):
        raise TableError(
            f"{source.name} is not text, and no other format that is known (Parquet, Arrow, npz, npy, libsvm, "
            "MatrixMarket); save the table as CSV."
        )
    return "utf-8"


def text_blocks(source: Source, encoding: str, prepare: Callable[[bytes], bytes] | None = None) -> Iterator[bytes]:
    """Blocks of text that end with a record.

    Parameters
    ----------
    source : Source
        The file.
    encoding : str
        Its encoding; bytes that do not follow it raise UnicodeDecodeError.
    prepare : callable or None
        Applied to whole lines, for example to collapse spaces.
    """
    pending, n_bytes = b"", 0
    for chunk in _normalised(source, encoding):
        if b"\0" in chunk:
            line = _line_at(source, encoding, n_bytes + len(pending) + chunk.index(b"\0"))
            raise TableError(f"{source.name} has a NUL byte in line {line}: it is damaged, or not text. Save it again.")
        data = pending + chunk
        cut = _last_record_end(data)
        if not cut and len(data) > _LONGEST_RECORD:
            raise TableError(
                f"{source.name} has no end of a record within {_LONGEST_RECORD} bytes after line "
                f'{_line_at(source, encoding, n_bytes)}; perhaps a quote (") is never closed there.'
            )
        if cut:
            n_bytes += cut
            yield prepare(data[:cut]) if prepare else data[:cut]
        pending = data[cut:]
    if pending.count(QUOTE) % 2:
        line = _line_at(source, encoding, n_bytes + pending.rindex(QUOTE))
        raise TableError(f'{source.name}: a quote (") in line {line} or before is never closed; close or remove it.')
    if pending:
        yield prepare(pending + b"\n") if prepare else pending + b"\n"


def _line_at(source: Source, encoding: str, position: int) -> int:
    """The line that a byte of the text is in, counted from 1; for errors, so that reading need not count lines."""
    line = 1
    for chunk in _normalised(source, encoding):
        line += chunk.count(b"\n", 0, max(position, 0))
        position -= len(chunk)
        if position <= 0:
            break
    return line


def _last_record_end(data: bytes) -> int:
    """Position after the last line break that is outside of quotes; 0 if there is none."""
    end = data.rfind(b"\n")
    if QUOTE not in data:
        return end + 1
    n_before = data.count(QUOTE, 0, max(end, 0))
    while end >= 0 and n_before % 2:
        previous = data.rfind(b"\n", 0, end)
        n_before -= data.count(QUOTE, max(previous, 0), end)
        end = previous
    return end + 1


def _normalised(source: Source, encoding: str) -> Iterator[bytes]:
    """Chunks in UTF-8 with line feeds only; UnicodeDecodeError if the bytes do not follow the encoding."""
    decoder = codecs.getincrementaldecoder(encoding)()
    utf8 = encoding in ("utf-8", "utf-8-sig")
    first, held = True, b""
    for raw in source.chunks(_CHUNK):
        if not utf8:
            data = decoder.decode(raw).encode("utf-8")
        else:
            if not (raw.isascii() and decoder.getstate()[0] == b""):
                decoder.decode(raw)  # only to see that it is valid
            data = raw.removeprefix(codecs.BOM_UTF8) if first else raw
        first, data = False, held + data
        held = b"\r" if data.endswith(b"\r") else b""  # its line feed may come with the next chunk
        data = data[: len(data) - len(held)]
        yield data.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in data else data
    decoder.decode(b"", final=True)
    if held:
        yield b"\n"
