"""Papers' tables: what they claim as data, what runs them, and the verdict."""

from rarefy.papers.claims import Claim, Table, Verdict, load_tables
from rarefy.papers.runner import run_table

__all__ = ["Claim", "Table", "Verdict", "load_tables", "run_table"]
