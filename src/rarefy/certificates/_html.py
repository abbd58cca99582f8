"""A certificate as HTML, for notebooks."""

import html
from collections.abc import Sequence


def certificate_html(verdict: str, kind: str, lines: Sequence[str]) -> str:
    """The verdict first, then the statement as a list; column names are user text and escaped."""
    first, *others = (html.escape(line) for line in lines)
    items = "".join(f"<li>{line}</li>" for line in others)
    return f"<div><strong>Certificate: {verdict} ({kind})</strong><p>{first}</p><ul>{items}</ul></div>"
