"""Sphinx configuration: `make docs` builds with warnings as errors."""

import re
import sys
from pathlib import Path

import rarefy

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "rarefy"
author = "The rarefy developers"
copyright = author
version = release = rarefy.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "mathml",
    "numpydoc",
    "sphinxcontrib.bibtex",
]
exclude_patterns = ["_build", "_ext", "_static", "_templates"]
html_static_path = ["_static"]
html_css_files = ["formulas.css"]
templates_path = ["_templates"]
default_role = "code"  # docstrings put names between single backticks

html_theme = "furo"
html_title = f"rarefy {release}"
html_math_renderer = "mathml"  # formulas are part of the page: no script, no network

autosummary_generate = True
autodoc_typehints = "none"  # types are in the docstrings
numpydoc_show_class_members = False  # the class template lists them
bibtex_bibfiles = ["references.bib"]
bibtex_reference_style = "author_year"

# Docstrings are written to be read as plain text. They cite by key in brackets, [Key2009] or [Key2009, Theorem 1;
# Other2012], and write |x| and n_features_in_, which reStructuredText would take for a substitution and a link.
# Here the keys become links to the bibliography and the signs are protected; code is left alone.
_KEY = r"[A-Z][A-Za-z]+(?:19|20)\d\d"
_CITATION = re.compile(rf"\[({_KEY}[^\]\[]*)\]")
_CODE = re.compile(r"(`+.*?`+)")
_SIGN = re.compile(r"\||(?<=\w)_(?!\w)")


def _as_rst(line):
    line = re.sub(r":ref:`([^<`]+?) *<[^`]*>`", r"\1", line)  # labels of scikit-learn's own guide, in inherited text
    parts = _CODE.split(line)
    parts[::2] = [_SIGN.sub(r"\\\g<0>", part) for part in parts[::2]]
    return _CITATION.sub(_linked, "".join(parts))


def _linked(citation):
    keys = re.sub(_KEY, r":cite:t:`\g<0>`", citation[1])
    return f"({keys})"


def _docstring_as_rst(app, what, name, obj, options, lines):
    in_doctest = False
    for i, line in enumerate(lines):
        in_doctest = bool(line.strip()) and (in_doctest or line.lstrip().startswith(">>>"))
        if not in_doctest:
            lines[i] = _as_rst(line)


def setup(app):
    """Connect to Sphinx."""
    app.connect("autodoc-process-docstring", _docstring_as_rst)
