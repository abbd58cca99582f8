"""Certificates: what a selection of features is guaranteed to preserve, as values that can be checked again."""

from rarefy.certificates._certificate import Certificate
from rarefy.certificates._certify import certify
from rarefy.certificates._geometry import hard_margin2, minimum_enclosing_ball
from rarefy.certificates._ridge import prediction_difference_bound, ridge_risk

__all__ = [
    "Certificate",
    "certify",
    "hard_margin2",
    "minimum_enclosing_ball",
    "prediction_difference_bound",
    "ridge_risk",
]
