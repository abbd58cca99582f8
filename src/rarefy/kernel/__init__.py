"""Kernel methods that keep few functions, few dimensions or few features."""

from rarefy.kernel._feature_selector import KernelFeatureSelector
from rarefy.kernel._feature_selector_cv import KernelFeatureSelectorCV
from rarefy.kernel._kernels import histogram_intersection_kernel, spline_kernel, wave_kernel
from rarefy.kernel._mu_path import MuPath
from rarefy.kernel._subspace import KernelSubspace
from rarefy.kernel._subspace_lp import AlphaPath, SubspaceLPSVC

__all__ = [
    "AlphaPath",
    "KernelFeatureSelector",
    "KernelFeatureSelectorCV",
    "KernelSubspace",
    "MuPath",
    "SubspaceLPSVC",
    "histogram_intersection_kernel",
    "spline_kernel",
    "wave_kernel",
]
