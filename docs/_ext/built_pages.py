"""Checks of the built pages: they load nothing from elsewhere, local links lead somewhere, every class has an example.

A page that needs the network looks right where it is written and wrong on a train, and Sphinx does not look at links in
raw HTML and in pictures. So the files that were written are read once more, and what is wrong with them is an error.
"""

import inspect
import json
import re
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path
from urllib.parse import unquote, urlsplit

from sphinx.errors import ExtensionError

_LOADS = {
    ("audio", "src"), ("embed", "src"), ("iframe", "src"), ("image", "href"), ("img", "src"), ("input", "src"),
    ("link", "href"), ("object", "data"), ("script", "src"), ("source", "src"), ("use", "href"), ("video", "poster"),
    ("video", "src"),
}  # fmt: skip
_NOT_LOADED = {"next", "prev", "search", "index", "author", "canonical", "copyright", "help", "license"}
_ELSEWHERE = re.compile(r"^\s*(?:https?:)?//", re.IGNORECASE)
_IN_STYLE = re.compile(r"""(?:@import\s+|url\()\s*["']?\s*((?:https?:)?//[^"')\s]+)""", re.IGNORECASE)


class _References(HTMLParser):
    """What a page loads, and what it links to."""

    def __init__(self, text):
        super().__init__()
        self.loaded, self.linked = _IN_STYLE.findall(text), []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        given = {name.removeprefix("xlink:"): value or "" for name, value in attrs}
        for name, value in given.items():
            loads = (tag, name) in _LOADS and not (tag == "link" and set(given.get("rel", "").split()) & _NOT_LOADED)
            if loads:
                self.loaded.append(value)
            elif name in ("srcset", "imagesrcset"):
                self.loaded += [part.split()[0] for part in value.split(",") if part.strip()]
            elif tag == "a" and name == "href":
                self.linked.append(value)


def from_elsewhere(text):
    """Addresses outside the page's own folder that a browser would fetch to show it."""
    return [address for address in _References(text).loaded if _ELSEWHERE.match(address)]


def leads_nowhere(page, root):
    """Relative addresses in a page at which there is no file."""
    found, folder = _References(page.read_text(encoding="utf-8")), page.parent
    for address in found.loaded + found.linked:
        parts = urlsplit(address)
        if parts.scheme or parts.netloc or not parts.path:
            continue
        if (
            not (folder / unquote(parts.path)).resolve().is_relative_to(root.resolve())
            or not (folder / unquote(parts.path)).exists()
        ):
            yield address


def without_example(app):
    """Public classes, and `certify` and its like, that no example uses."""
    api = (Path(app.srcdir) / "api.rst").read_text(encoding="utf-8")
    folder = Path(app.srcdir) / app.config.sphinx_gallery_conf["backreferences_dir"]
    used = json.loads((folder / "backreferences_all.json").read_text(encoding="utf-8"))
    module = ""
    for line in api.splitlines():
        if line.startswith(".. currentmodule:: "):
            module = line.split()[-1]
        named = re.fullmatch(r"   (\w+)", line)
        if named is None or used.get(f"{module}.{named[1]}") or used.get(f"rarefy.{named[1]}"):
            continue
        if inspect.isclass(getattr(import_module(module), named[1])) or "certify" in named[1]:
            yield f"{module}.{named[1]}"


def _check(app, exception):
    if exception is not None or app.builder.format != "html":
        return
    root, wrong = Path(app.outdir), []
    for page in sorted(root.rglob("*.html")):
        name = page.relative_to(root)
        wrong += [f"{name} loads {address}" for address in from_elsewhere(page.read_text(encoding="utf-8"))]
        wrong += [f"{name} leads to {address}, which does not exist" for address in leads_nowhere(page, root)]
    for sheet in sorted(root.rglob("*.css")):
        found = _IN_STYLE.findall(sheet.read_text(encoding="utf-8"))
        wrong += [f"{sheet.relative_to(root)} loads {address}" for address in found]
    wrong += [f"{name} has no example in the gallery" for name in without_example(app)]
    if wrong:
        raise ExtensionError("The built pages are not as they should be:\n" + "\n".join(wrong))


def setup(app):
    """Connect to Sphinx."""
    app.connect("build-finished", _check, priority=900)  # after the gallery has put links into its pages
    return {"parallel_read_safe": True, "parallel_write_safe": True}
