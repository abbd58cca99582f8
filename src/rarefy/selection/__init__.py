"""Selectors of input features."""

from rarefy.selection._bss import BSSSelector
from rarefy.selection._leverage import LeverageScoreSelector
from rarefy.selection._support_vectors import SupportVectorSelector

__all__ = ["BSSSelector", "LeverageScoreSelector", "SupportVectorSelector"]
