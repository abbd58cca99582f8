"""Generators with known answers; loaders of data sets from files."""

from rarefy.datasets._load import load, load_libsvm, load_techtc
from rarefy.datasets._ndcc import make_ndcc
from rarefy.datasets._synthetic import make_rare_gaussians, make_relevant
from rarefy.datasets._text import make_topics

__all__ = ["load", "load_libsvm", "load_techtc", "make_ndcc", "make_rare_gaussians", "make_relevant", "make_topics"]
