"""Ranking a rare class, or ordered levels, with few kernel functions."""

from rarefy.ranking._bounds import subset_bound
from rarefy.ranking._ordinal import OrdinalRankRC
from rarefy.ranking._ranker import RankPath
from rarefy.ranking._rankrc import RankRC
from rarefy.ranking._rankrc_cv import RankRCCV

__all__ = ["OrdinalRankRC", "RankPath", "RankRC", "RankRCCV", "subset_bound"]
