"""Formulas as MathML, converted while the pages are built: reading them needs no network and no script.

Sphinx hands over the LaTeX of each `:math:` role and each `.. math::` directive; `latex2mathml` converts it, and what
browsers would set differently from TeX is put right here and in `_static/formulas.css`. A command that the converter
does not know would come out as its own name: that is a warning, and `make docs` treats warnings as errors.
"""

import html
import re
import unicodedata
from xml.etree import ElementTree

from docutils.nodes import SkipNode
from latex2mathml.converter import convert_to_element
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number

logger = logging.getLogger(__name__)

_ENVIRONMENT = re.compile(r"\\begin\{(\w+\*?)\}.*?\\end\{\1\}", re.DOTALL)
_CAPITAL_GREEK = "ΓΔΘΛΞΠΣΥΦΨΩ"  # upright in TeX
_OPERATORS_AS_LETTERS = "⪯⪰⟹⟨⟩⟂±"  # the converter takes them for identifiers, which have no space around them
_LIMITS = {"max", "min", "sup", "inf", "lim", "Pr"}  # their subscript goes below in a displayed formula
# Browsers know no `mathvariant` but "normal"; Unicode has a character for each letter. The older ones of these
# characters lack the word MATHEMATICAL in their name.
_VARIANTS = {"script": "SCRIPT CAPITAL", "double-struck": "DOUBLE-STRUCK DIGIT", "bold": "BOLD DIGIT"}
_THIN = "0.167em"


def mathml_element(latex, *, display):
    """One formula as an element tree."""
    if r"\\" in _ENVIRONMENT.sub("", latex):  # several lines: as Sphinx does for LaTeX
        latex = rf"\begin{{split}}{latex}\end{{split}}"
    tree = convert_to_element(latex, display="block" if display else "inline")
    for parent in tree.iter():
        parent.text = html.unescape(parent.text) if parent.text else parent.text  # the converter leaves entities
        for name, value in parent.attrib.items():
            parent.set(name, html.unescape(value))
    for parent in list(tree.iter()):
        _use_unicode_variant(parent)
        _set_limits_below(parent)
        for i, element in enumerate(parent):
            _set_as_tex_does(element, parent[i - 1] if i else None, parent[i + 1] if i + 1 < len(parent) else None)
    return tree


def _use_unicode_variant(element):
    variant = element.get("mathvariant", "normal")
    if variant != "normal" and element.text:
        name = f"{_VARIANTS[variant]} {unicodedata.name(element.text).split()[-1]}"
        try:
            element.text = unicodedata.lookup(f"MATHEMATICAL {name}")
        except KeyError:
            element.text = unicodedata.lookup(name)
        element.set("mathvariant", "normal")


def _set_limits_below(element):
    if element.tag == "msub" and element[0].text in _LIMITS:
        element.tag = "munder"
        element[0].set("movablelimits", "true")  # beside the operator within a line


def _set_as_tex_does(element, before, after):
    text = element.text or ""
    if element.tag == "mi" and text and text in _CAPITAL_GREEK:
        element.set("mathvariant", "normal")
    elif element.tag == "mi" and text and text in _OPERATORS_AS_LETTERS:
        element.tag = "mo"
        element.set("stretchy", "false")
    elif element.tag == "mo" and text in ("/", "|", "‖"):
        element.set("lspace", "0")
        element.set("rspace", "0")
        if "minsize" not in element.attrib:  # grows only where the source says so
            element.set("stretchy", "false")
    elif element.tag in ("mi", "mo") and text.isalpha() and len(text) > 1:  # max, tr, exp
        element.tag = "mo"
        spaced = before is not None and (before.tag not in ("mo", "mspace", "mtext") or before.text == ")")
        opens = after is not None and after.text in ("(", "{", "[")
        element.set("lspace", _THIN if spaced else "0")
        element.set("rspace", "0" if after is None or opens else _THIN)


def unknown_commands(tree):
    """LaTeX commands and alignment signs that are left in a converted formula."""
    return [element.text for element in tree.iter() if re.match(r"\\[A-Za-z]|&", element.text or "")]


def _mathml(node, latex, *, display):
    try:
        tree = mathml_element(latex, display=display)
    except Exception as error:  # the converter's errors have no base class of their own
        logger.warning("formula %r cannot be converted: %r", latex, error, location=node)
        return ""
    for command in unknown_commands(tree):
        logger.warning("formula %r: %s is not converted", latex, command, location=node)
    return ElementTree.tostring(tree, encoding="unicode")


def _visit_inline(translator, node):
    translator.body.append(translator.starttag(node, "span", "", CLASS="math notranslate nohighlight"))
    translator.body.append(_mathml(node, node.astext(), display=False))
    translator.body.append("</span>")
    raise SkipNode


def _visit_block(translator, node):
    translator.body.append(translator.starttag(node, "div", CLASS="math notranslate nohighlight"))
    if node["number"]:
        translator.body.append(f'<span class="eqno">({get_node_equation_number(translator, node)})')
        translator.add_permalink_ref(node, "Link to this equation")
        translator.body.append("</span>")
    for latex in re.split(r"\n\s*\n", node.astext().strip()):
        translator.body.append(_mathml(node, latex, display=True))
    translator.body.append("</div>\n")
    raise SkipNode


def setup(app):
    """Register the renderer; `html_math_renderer = "mathml"` in conf.py chooses it."""
    app.add_html_math_renderer("mathml", inline_renderers=(_visit_inline, None), block_renderers=(_visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
