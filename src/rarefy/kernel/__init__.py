"""Kernel methods that keep few functions, few dimensions or few features."""

from rarefy.kernel._kernels import histogram_intersection_kernel, spline_kernel, wave_kernel
from rarefy.kernel._subspace import KernelSubspace
from rarefy.kernel._subspace_lp import AlphaPath, SubspaceLPSVC

__all__ = [
    "AlphaPath",
    "KernelSubspace",
    "SubspaceLPSVC",
    "histogram_intersection_kernel",
    "spline_kernel",
    "wave_kernel",
]
