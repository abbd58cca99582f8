"""Kernel methods that keep few functions, few dimensions or few features."""

from rarefy.kernel._bounds import subset_bound
from rarefy.kernel._feature_selector import KernelFeatureSelector
from rarefy.kernel._feature_selector_cv import KernelFeatureSelectorCV
from rarefy.kernel._kernels import histogram_intersection_kernel, spline_kernel, wave_kernel
from rarefy.kernel._mu_path import MuPath
from rarefy.kernel._ordinal import OrdinalRankRC
from rarefy.kernel._ranker import RankPath
from rarefy.kernel._rankrc import RankRC
from rarefy.kernel._rankrc_cv import RankRCCV
from rarefy.kernel._subspace import KernelSubspace
from rarefy.kernel._subspace_lp import AlphaPath, SubspaceLPSVC

__all__ = [
    "AlphaPath",
    "KernelFeatureSelector",
    "KernelFeatureSelectorCV",
    "KernelSubspace",
    "MuPath",
    "OrdinalRankRC",
    "RankPath",
    "RankRC",
    "RankRCCV",
    "SubspaceLPSVC",
    "histogram_intersection_kernel",
    "spline_kernel",
    "subset_bound",
    "wave_kernel",
]
