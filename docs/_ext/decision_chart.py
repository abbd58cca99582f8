"""A chart of questions with answers, as SVG inside the page: its text is text, and its colours are those of the theme.

It is one column, as wide as a phone, because a chart that is wide is small on a phone. A line without a sign is a
question, `+` an answer of ours and `-` one of somebody else; what follows `|` is a page of this documentation.
"""

from html import escape
from textwrap import wrap

from docutils import nodes
from docutils.parsers.rst import Directive

WIDTH, LINE, PAD, INDENT, GAP = 380, 18, 9, 34, 8
QUESTION, ANSWER = 45, 47  # characters in a line, of letters of 14 and of 13 units


def rungs(lines):
    """Each question with its answers."""
    found = []
    for line in lines:
        text, _, page = (part.strip() for part in line.partition("|"))
        if line[:1] in "+-":
            found[-1][1].append((line[0], text[1:].strip(), page))
        elif text:
            found.append((text, []))
    return found


def _box(kind, x, y, text, width, page):
    """A box with wrapped text, and how tall it is."""
    lines = wrap(text, width)
    height = LINE * len(lines) + 2 * PAD - 4
    spans = "".join(
        f'<tspan x="{x + PAD}" y="{y + PAD + 11 + LINE * i}">{escape(part)}</tspan>' for i, part in enumerate(lines)
    )
    box = (
        f'<g class="{kind}"><rect x="{x}" y="{y}" width="{WIDTH - x - 1}" height="{height}" rx="5"/>'
        f"<text>{spans}</text></g>"
    )
    return (f'<a href="{escape(page)}">{box}</a>' if page else box), height


def chart(found, title):
    """The SVG."""
    parts, y = [], 1
    for number, (question, answers) in enumerate(found):
        box, height = _box("question", 1, y, question, QUESTION, "")
        parts.append(box)
        top = y + height
        y = top + GAP
        for sign, text, page in answers:
            box, height = _box("ours" if sign == "+" else "other", INDENT, y, text, ANSWER, page)
            parts.append(box)
            y += height + GAP
        if number + 1 < len(found):
            parts.append(
                f'<path class="arrow" d="M21 {top} V{y + 4} m-4 -6 l4 6 l4 -6"/>'
                f'<text class="no" x="1" y="{(top + y) / 2 + 4:.0f}">no</text>'
            )
            y += 6
    return (
        f'<svg class="decision-chart" viewBox="0 0 {WIDTH} {y}" role="group" aria-label="{escape(title)}" '
        f'xmlns="http://www.w3.org/2000/svg">{"".join(parts)}</svg>'
    )


class DecisionChart(Directive):
    """The chart of the lines below, with its title for readers who cannot see it."""

    has_content, required_arguments, final_argument_whitespace = True, 1, True

    def run(self):
        """Put it into the page."""
        return [nodes.raw("", chart(rungs(self.content), self.arguments[0]), format="html")]


def setup(app):
    """Connect to Sphinx."""
    app.add_directive("decision-chart", DecisionChart)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
