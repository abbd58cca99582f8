"""Kernel methods that use few kernel functions, few dimensions or few features."""

from rarefy.kernel._feature_regressor import KernelFeatureRegressor
from rarefy.kernel._feature_selector import KernelFeatureSelector
from rarefy.kernel._feature_selector_cv import KernelFeatureSelectorCV
from rarefy.kernel._functions import histogram_intersection_kernel, spline_kernel, wave_kernel
from rarefy.kernel._path import RegularizationPath
from rarefy.kernel._subspace import KernelSubspace
from rarefy.kernel._subspace_lp import SubspaceLPSVC
from rarefy.kernel._subspace_lp_cv import SubspaceLPSVCCV

__all__ = [
    "KernelFeatureRegressor",
    "KernelFeatureSelector",
    "KernelFeatureSelectorCV",
    "KernelSubspace",
    "RegularizationPath",
    "SubspaceLPSVC",
    "SubspaceLPSVCCV",
    "histogram_intersection_kernel",
    "spline_kernel",
    "wave_kernel",
]
