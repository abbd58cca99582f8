"""Self-contained pages from templates: text is escaped, pictures are embedded, files are written atomically."""

import base64
import json
import platform
from dataclasses import fields
from importlib.metadata import version
from os import PathLike
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

import rarefy
from rarefy._files import write_atomically

_ENVIRONMENT = Environment(loader=PackageLoader("rarefy.pages"), autoescape=True, undefined=StrictUndefined)


def render(template: str, **values: Any) -> str:
    """Fill a template of this package; the value `pictures` is a list of SVG texts made by `figures`."""
    if "pictures" in values:
        values["pictures"] = [Markup(svg) for svg in values["pictures"]]  # our own drawings, not user text
    text = _ENVIRONMENT.get_template(template).render(version=rarefy.__version__, **values)
    return text.encode("utf-8", "replace").decode("utf-8")  # names of files and columns may have halves of characters


def write_html(path: str | PathLike[str], template: str, **values: Any) -> None:
    """Render and write a page; an interrupted run leaves the old page or none."""
    write_atomically(path, render(template, **values))


def embedded(values: Any) -> Markup:
    """Values as JSON for a script element: no name in them can end the element or begin another."""
    text = json.dumps(values, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return Markup(text.translate({ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}))


_DOWNLOAD = 1_000_000
"""Characters up to which a certificate is in a page, too."""


def download(certificate: Any) -> str | None:
    """A certificate as JSON in the address of a link, so that the page has it without another file.

    None if the address would have too many characters; a number and a comma take two at least.
    """
    arrays = (getattr(certificate, field.name) for field in fields(certificate))
    if 2 * sum(value.size for value in arrays if isinstance(value, np.ndarray)) > _DOWNLOAD:
        return None
    text = json.dumps(certificate.to_dict(), separators=(",", ":"), allow_nan=False)
    link = "data:application/json;base64," + base64.b64encode(text.encode("ascii")).decode("ascii")
    return link if len(link) <= _DOWNLOAD else None


def versions() -> dict[str, str]:
    """Of what a result depends on."""
    others = {name: version(name) for name in ("numpy", "scipy", "scikit-learn")}
    return {"rarefy": rarefy.__version__, **others, "Python": platform.python_version()}
