"""Certificates: what a selection of features is guaranteed to preserve, as values that can be checked again."""

from rarefy.certificates._certificate import Certificate
from rarefy.certificates._certify import certify
from rarefy.certificates._certify_kernels import certify_kernels
from rarefy.certificates._curve import RidgeCurve, ridge_curve
from rarefy.certificates._geometry import hard_margin2, minimum_enclosing_ball
from rarefy.certificates._kernel import KernelCertificate
from rarefy.certificates._recall import RecallCertificate
from rarefy.certificates._ridge import certified_signs, prediction_difference_bound, ridge_risk
from rarefy.certificates._subset import SubsetCertificate

__all__ = [
    "Certificate",
    "KernelCertificate",
    "RecallCertificate",
    "RidgeCurve",
    "SubsetCertificate",
    "certified_signs",
    "certify",
    "certify_kernels",
    "hard_margin2",
    "minimum_enclosing_ball",
    "prediction_difference_bound",
    "ridge_curve",
    "ridge_risk",
]
