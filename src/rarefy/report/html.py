"""Self-contained pages from templates: text is escaped, pictures are embedded, files are written atomically."""

from os import PathLike
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

import rarefy
from rarefy._files import write_atomically

_ENVIRONMENT = Environment(loader=PackageLoader("rarefy.report"), autoescape=True, undefined=StrictUndefined)


def render(template: str, **values: Any) -> str:
    """Fill a template of this package; the value `pictures` is a list of SVG texts made by `figures`."""
    if "pictures" in values:
        values["pictures"] = [Markup(svg) for svg in values["pictures"]]  # our own drawings, not user text
    return _ENVIRONMENT.get_template(template).render(version=rarefy.__version__, **values)


def write_html(path: str | PathLike[str], template: str, **values: Any) -> None:
    """Render and write a page; an interrupted run leaves the old page or none."""
    write_atomically(path, render(template, **values))
