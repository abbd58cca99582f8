"""Selectors of input features."""

from rarefy.selection._best_subset import BestSubsetSelector
from rarefy.selection._bss import BSSSelector
from rarefy.selection._information_gain import InformationGainSelector
from rarefy.selection._leverage import LeverageScoreSelector
from rarefy.selection._lpsvm import LPSVMSelector
from rarefy.selection._random import RandomSelector
from rarefy.selection._relief import ReliefSelector
from rarefy.selection._rrqr import RRQRSelector
from rarefy.selection._stability import StabilityReport, selection_stability
from rarefy.selection._subset_curve import BestSubsetCurve, best_subset_curve
from rarefy.selection._support_vectors import SupportVectorSelector

__all__ = [
    "BSSSelector",
    "BestSubsetCurve",
    "BestSubsetSelector",
    "InformationGainSelector",
    "LPSVMSelector",
    "LeverageScoreSelector",
    "RRQRSelector",
    "RandomSelector",
    "ReliefSelector",
    "StabilityReport",
    "SupportVectorSelector",
    "best_subset_curve",
    "selection_stability",
]
