"""A table of the recorded figures of `make trials`, made from trials/figures.json when the page is built."""

import json
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import Directive

FIGURES = Path(__file__).resolve().parents[2] / "trials" / "figures.json"


def rows(recorded):
    """Trial, figure, goal and time, one row for each goal of a trial."""
    for name, one in recorded.items():
        for goal in one["goals"]:
            found, of = one["counts"].get(goal["count"], 0), one["counts"].get(goal["of"], 0)
            most = goal["share"] * of
            aim = f"at most {goal['share']:.0%}" if goal["share"] else "0"
            met = of > 0 and found <= most
            figure = f"{goal['count']}: {found} of {_number(of)} {goal['of']}"
            yield name, one["about"], figure, aim, met, one


def _number(value):
    return f"{value:,}".replace(",", " ")


def _entry(text, strong=False):
    paragraph = nodes.paragraph()
    paragraph += nodes.strong(text=text) if strong else nodes.Text(text)
    return nodes.entry("", paragraph)


def table(recorded):
    """The nodes of the table."""
    titles = ("trial", "what is tried", "figure", "goal", "minutes")
    group = nodes.tgroup(cols=len(titles))
    group += [nodes.colspec(colwidth=width) for width in (10, 40, 30, 10, 8)]
    head, body = nodes.thead(), nodes.tbody()
    head += nodes.row("", *(_entry(title) for title in titles))
    seen = set()
    for name, about, figure, aim, met, one in rows(recorded):
        first = name not in seen
        seen.add(name)
        minutes = f"{one['seconds'] / 60:.1f}" if first else ""
        cells = (name if first else "", about if first else "", figure, aim if met else f"{aim}: not met", minutes)
        body += nodes.row("", *(_entry(cell, strong=not met and i in (2, 3)) for i, cell in enumerate(cells)))
    group += [head, body]
    return nodes.table("", group)


def faults(recorded):
    """What was found wrong and is recorded as not met, as a list."""
    found = nodes.bullet_list()
    for name, one in recorded.items():
        for fault in one["wrong"]:
            text = fault if len(fault) < 200 else fault[:197] + "..."
            found += nodes.list_item("", nodes.paragraph("", "", nodes.strong(text=name), nodes.Text(f": {text}")))
    return found


class TrialFigures(Directive):
    """``.. trial-figures:: daily`` is the table of a set, ``.. trial-faults:: daily`` what is wrong."""

    required_arguments = 1
    make = staticmethod(table)

    def run(self):
        """The nodes, from the file as it is now."""
        self.state.document.settings.env.note_dependency(str(FIGURES))
        recorded = json.loads(FIGURES.read_text(encoding="utf-8")).get(self.arguments[0], {})
        return [self.make(recorded)] if recorded else [nodes.paragraph(text="Nothing was recorded.")]


class TrialFaults(TrialFigures):
    """The list."""

    make = staticmethod(faults)


def setup(app):
    """For Sphinx."""
    app.add_directive("trial-figures", TrialFigures)
    app.add_directive("trial-faults", TrialFaults)
    return {"parallel_read_safe": True}
