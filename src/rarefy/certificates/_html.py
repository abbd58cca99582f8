"""A certificate as HTML, for notebooks."""

import html
from collections.abc import Sequence


def certificate_html(kind: str, lines: Sequence[str]) -> str:
    """The statement as a list; column names are user text and escaped."""
    items = "".join(f"<li>{html.escape(line)}</li>" for line in lines)
    return f"<div><strong>Certificate ({kind})</strong><ul>{items}</ul></div>"
