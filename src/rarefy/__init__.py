"""rarefy keeps few features and says what it kept."""

from rarefy.core.ball import minimum_enclosing_ball
from rarefy.core.certificates import Certificate
from rarefy.core.ridge import prediction_difference_bound, ridge_risk
from rarefy.selection._certify import certify

__version__ = "0.1.0"

__all__ = [
    "Certificate",
    "certify",
    "minimum_enclosing_ball",
    "prediction_difference_bound",
    "ridge_risk",
]
