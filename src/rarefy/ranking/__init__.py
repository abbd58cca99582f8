"""Ranking a rare class, or ordered levels, with few kernel functions."""

from rarefy.certificates._recall import RecallCertificate
from rarefy.core.losses.hinge import SmoothedHinge
from rarefy.core.losses.logistic import Logistic
from rarefy.ranking._bounds import subset_bound
from rarefy.ranking._certify_scores import certify_scores
from rarefy.ranking._certify_threshold import certify_threshold
from rarefy.ranking._ordinal import OrdinalRankRC
from rarefy.ranking._ordinal_cv import OrdinalRankRCCV
from rarefy.ranking._rankrc import RankRC
from rarefy.ranking._rankrc_cv import RankRCCV
from rarefy.ranking._score_certificate import ScoreCertificate

__all__ = [
    "Logistic",
    "OrdinalRankRC",
    "OrdinalRankRCCV",
    "RankRC",
    "RankRCCV",
    "RecallCertificate",
    "ScoreCertificate",
    "SmoothedHinge",
    "certify_scores",
    "certify_threshold",
    "subset_bound",
]
