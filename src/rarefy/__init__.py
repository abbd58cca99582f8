"""rarefy keeps few features and says what it kept."""

from rarefy.certificates._certificate import Certificate
from rarefy.certificates._certify import certify
from rarefy.core.certificates.ridge import prediction_difference_bound, ridge_risk
from rarefy.core.svm.hulls import hard_margin2, minimum_enclosing_ball
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
