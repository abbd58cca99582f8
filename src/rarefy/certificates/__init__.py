"""Certificates: what a selection of features is guaranteed to preserve, as values that can be checked again."""

from rarefy.certificates._certificate import Certificate
from rarefy.certificates._certify import certify

__all__ = ["Certificate", "certify"]
