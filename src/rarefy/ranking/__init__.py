"""Ranking a rare class, or ordered levels, with few kernel functions."""

from rarefy.certificates._recall import RecallCertificate
from rarefy.core.losses.hinge import SmoothedHinge
from rarefy.core.losses.logistic import Logistic
from rarefy.ranking._bounds import subset_bound
from rarefy.ranking._certify_threshold import certify_threshold
from rarefy.ranking._ordinal import OrdinalRankRC
from rarefy.ranking._rankrc import RankRC
from rarefy.ranking._rankrc_cv import RankRCCV

__all__ = [
    "Logistic",
    "OrdinalRankRC",
    "RankRC",
    "RankRCCV",
    "RecallCertificate",
    "SmoothedHinge",
    "certify_threshold",
    "subset_bound",
]
