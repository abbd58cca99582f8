"""Generators with known answers."""

from rarefy.datasets._text import make_topics

__all__ = ["make_topics"]
