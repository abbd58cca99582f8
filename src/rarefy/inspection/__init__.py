"""Displays: pictures of what was chosen and what is proved, in the style of scikit-learn's displays."""

from rarefy.inspection._certificate import CertificateDisplay
from rarefy.inspection._curve import SelectionCurveDisplay
from rarefy.inspection._path import PathDisplay
from rarefy.inspection._stability import StabilityDisplay
from rarefy.inspection._threshold import ThresholdDisplay

__all__ = [
    "CertificateDisplay",
    "PathDisplay",
    "SelectionCurveDisplay",
    "StabilityDisplay",
    "ThresholdDisplay",
]
