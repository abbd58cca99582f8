"""People's own tables: files and data frames read into typed columns, and encoded as numbers."""

from rarefy.tables._encoder import TableEncoder
from rarefy.tables._read import read_table
from rarefy.tables._table import Table

__all__ = ["Table", "TableEncoder", "read_table"]
