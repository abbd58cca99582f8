"""Sphinx configuration: `make docs` builds with warnings as errors."""

import re

import rarefy

project = "rarefy"
author = "The rarefy developers"
copyright = author
version = release = rarefy.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "numpydoc",
    "sphinxcontrib.bibtex",
]
exclude_patterns = ["_build", "_templates"]
templates_path = ["_templates"]
default_role = "code"  # docstrings put names between single backticks

html_theme = "furo"
html_title = f"rarefy {release}"

autosummary_generate = True
autodoc_typehints = "none"  # types are in the docstrings
numpydoc_show_class_members = False  # the class template lists them
bibtex_bibfiles = ["references.bib"]
bibtex_reference_style = "author_year"

# Docstrings cite by key in plain brackets, [Key2009] or [Key2009, Theorem 1; Other2012]: readable where they
# are read most, in the source. Here every key becomes a link to the bibliography.
_KEY = r"[A-Z][A-Za-z]+(?:19|20)\d\d"
_PLAIN_CITATION = re.compile(rf"\[((?:{_KEY}[^\]\[]*))\]")


def _linked(match):
    return f"({re.sub(_KEY, lambda key: f':cite:t:`{key[0]}`', match[1])})"


def _link_citations(app, what, name, obj, options, lines):
    lines[:] = [_PLAIN_CITATION.sub(_linked, line) for line in lines]


def setup(app):
    app.connect("autodoc-process-docstring", _link_citations)
