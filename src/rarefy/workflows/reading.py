"""Which table is read, and which part of it; also as Python."""

import csv
import io
from dataclasses import dataclass, replace

from rarefy.exceptions import ParameterError
from rarefy.tables import Table, read_table
from rarefy.tables._messages import quoted
from rarefy.tables._notes import names_the_rows
from rarefy.workflows.stored import StoredTable, is_block_folder


@dataclass(frozen=True)
class Reading:
    """A file, the columns to leave out, and how many rows are drawn from it."""

    file: str
    drop: tuple[str, ...] = ()
    sample: int | None = None
    seed: int = 0

    @classmethod
    def of_options(cls, file: str, drop: str | None, sample: int | None, seed: int) -> "Reading":
        """From what is written on a command line: names are separated by commas, and quotes protect a comma in one."""
        names = next(csv.reader([drop or ""], skipinitialspace=True), [])
        return cls(file, tuple(name.strip() for name in names if name.strip()), sample, seed)

    @property
    def is_stored(self) -> bool:
        """Whether it is a folder of blocks."""
        return is_block_folder(self.file)

    def stored(self) -> StoredTable:
        """Open the folder of blocks, which is read as a whole."""
        wrong = [name for name, given in (("--drop", self.drop), ("--sample", self.sample is not None)) if given]
        if wrong:
            raise ParameterError(
                f"{' and '.join(wrong)} cannot be used with a folder of blocks: choose rows and columns when it is "
                "written, with rarefy convert."
            )
        return StoredTable(self.file)

    def table(self) -> Table:
        """Read it."""
        table = read_table(self.file, sample=self.sample, random_state=self.seed)
        return table.drop(self.drop) if self.drop else table

    def without_row_names(self) -> tuple[Table, "Reading"]:
        """Read it without a first column that only names the rows; also the reading that leaves it out."""
        table = self.table()
        first = table.names[0]
        if not names_the_rows(table, first):
            return table, self
        note = f"Column {quoted(first)} has another text in every row: it names the rows, and is left out."
        return replace(table.drop([first]), notes=(*table.notes, note)), replace(self, drop=(*self.drop, first))

    @property
    def options(self) -> tuple[str, ...]:
        """Options of a command that leave out the same columns and rows; `of_options` reads them."""
        line = io.StringIO()
        csv.writer(line, lineterminator="").writerow(self.drop)
        drop = ("--drop", line.getvalue()) if self.drop else ()
        sample = () if self.sample is None else ("--sample", str(self.sample))
        return (*drop, *sample, *(("--seed", str(self.seed)) if self.seed else ()))

    @property
    def code(self) -> str:
        """The same in Python."""
        if self.is_stored:
            return f"rarefy.blocks.open({self.file!r})"
        sample = "" if self.sample is None else f", sample={self.sample}, random_state={self.seed}"
        drop = f".drop({list(self.drop)!r})" if self.drop else ""
        return f"read_table({self.file!r}{sample}){drop}"
