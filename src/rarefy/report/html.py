"""Self-contained pages from templates: text is escaped, pictures are embedded, files are written whole."""

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

import rarefy
from rarefy._files import write_whole

_ENVIRONMENT = Environment(loader=PackageLoader("rarefy.report"), autoescape=True, undefined=StrictUndefined)


def render(template, **values):
    """Fill a template of this folder; a `pictures` value is a list of SVG texts made by `figures`."""
    if "pictures" in values:
        values["pictures"] = [Markup(svg) for svg in values["pictures"]]  # our own drawings, not user text
    return _ENVIRONMENT.get_template(template).render(version=rarefy.__version__, **values)


def write_html(path, template, **values):
    """Render and write a page; an interrupted run leaves the old page or none."""
    write_whole(path, render(template, **values))
