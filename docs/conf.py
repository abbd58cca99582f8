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
    "sphinx_gallery.gen_gallery",
    "decision_chart",
    "trial_figures",
    "walkthrough",  # runs the tutorials, and fails if they print something else than the page says
    "built_pages",  # fails if a page loads anything from elsewhere, a link is broken, or a class has no example
]
exclude_patterns = ["_build", "_ext", "_static", "_templates", "gallery/*.ipynb", "gallery/**/*.ipynb"]
html_static_path = ["_static"]
html_css_files = ["formulas.css", "pictures.css"]
templates_path = ["_templates"]
default_role = "code"  # docstrings put names between single backticks

# furo: light and dark by what the reader's system asks for, readable on a phone, and all of its files are local; themes
# of the same quality load fonts or icons from elsewhere, or need settings not to.
html_theme = "furo"
html_title = f"rarefy {release}"
# MathML and not MathJax: formulas are part of the page, so that there is no script of megabytes to bundle and nothing
# jumps while it loads. Current Chromium, Firefox and Safari all draw it.
html_math_renderer = "mathml"

# Every example is run and its pictures are shown. No times are printed: the pages of two builds are the same.
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "subsection_order": [f"../examples/{theme}" for theme in ("columns", "keeps", "kernels", "rare")],
    "within_subsection_order": "FileNameSortKey",
    "doc_module": ("rarefy",),
    "reference_url": {"rarefy": None},  # names in the code link to our own API pages
    "backreferences_dir": "api/backreferences",
    "inspect_global_variables": True,
    "capture_repr": (),  # what an example shows is what it prints and draws, as when it runs as a script
    "min_reported_time": 1e6,
    "write_computation_times": False,
    "show_signature": False,
    "remove_config_comments": True,
    "abort_on_example_error": True,
    "log_level": {"backreference_missing": "info"},
    "image_srcset": ["2x"],
    "matplotlib_animations": False,
}

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
