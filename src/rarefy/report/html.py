"""Self-contained pages from templates: text is escaped, pictures are embedded, files are written whole."""

import os
import tempfile
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

import rarefy

_ENVIRONMENT = Environment(loader=PackageLoader("rarefy.report"), autoescape=True, undefined=StrictUndefined)


def render(template, **values):
    """Fill a template of this folder; a `pictures` value is a list of SVG texts made by `figures`."""
    if "pictures" in values:
        values["pictures"] = [Markup(svg) for svg in values["pictures"]]  # our own drawings, not user text
    return _ENVIRONMENT.get_template(template).render(version=rarefy.__version__, **values)


def write_html(path, template, **values):
    """Render and write a page; an interrupted run leaves the old page or none."""
    text = render(template, **values)
    path = Path(path)
    handle, name = tempfile.mkstemp(dir=path.resolve().parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
