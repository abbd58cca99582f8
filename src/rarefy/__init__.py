"""rarefy keeps few features and says what it kept."""

from rarefy.core.certificates import Certificate
from rarefy.core.hulls import hard_margin2, minimum_enclosing_ball
from rarefy.core.ridge import prediction_difference_bound, ridge_risk
from rarefy.selection._certify import certify
from rarefy.selection._stability import StabilityReport, selection_stability

__version__ = "0.1.0"

__all__ = [
    "Certificate",
    "StabilityReport",
    "certify",
    "hard_margin2",
    "minimum_enclosing_ball",
    "prediction_difference_bound",
    "ridge_risk",
    "selection_stability",
]
