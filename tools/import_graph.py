"""Print which sub-packages of rarefy import which, layer by layer, and fail if there is a cycle.

python tools/import_graph.py            the drawing of CONTRIBUTING.md
python tools/import_graph.py --check    also compare it with CONTRIBUTING.md
"""

import ast
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "rarefy"
BEGIN, END = "<!-- import graph -->", "<!-- end of import graph -->"


def unit(module):
    """The sub-package that a module is drawn as: `core.linalg`, `selection`, and one for the shared helpers."""
    parts = module.split(".")[1:]
    if not parts or parts == ["core"]:
        return "rarefy"
    if parts[0] == "core":
        return ".".join(parts[:2])
    return "helpers" if parts[0].startswith("_") or parts[0] in ("config", "exceptions") else parts[0]


def imported(tree):
    """Modules that a file imports when it is loaded or called, but not those for type checkers only."""
    skipped = {
        child
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for child in ast.walk(node)
    }
    for node in ast.walk(tree):
        if node in skipped:
            continue
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("rarefy"):
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                inside = PACKAGE.joinpath(*whole.split(".")[1:])
                yield whole if inside.is_dir() or inside.with_suffix(".py").exists() else node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.startswith("rarefy"))


def edges():
    """For every sub-package the others that it imports; the package itself, which is lazy, is left out."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        name = ".".join(("rarefy", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__")
        own = unit(name)
        if own == "rarefy" or name == "rarefy.__main__":
            continue
        others = {unit(module) for module in imported(ast.parse(path.read_text(encoding="utf-8")))}
        found.setdefault(own, set()).update(others - {own, "rarefy"})
    return found


def layers(graph):
    """Sub-packages from the top down; each imports only what stands below it."""
    sorter = TopologicalSorter(graph)
    sorter.prepare()
    found = []
    while sorter.is_active():
        ready = sorted(sorter.get_ready())
        found.append(ready)
        sorter.done(*ready)
    return found[::-1]


def drawing():
    graph = edges()
    lines = []
    for layer in layers(graph):
        for name in layer:
            below = ", ".join(sorted(graph.get(name, ()))) or "numpy and scipy only"
            lines.append(f"    {name:22} -> {below}" if below != "numpy and scipy only" else f"    {name}")
        lines.append("")
    return "\n".join(lines).rstrip()


def main():
    try:
        text = drawing()
    except CycleError as error:
        sys.exit(f"The import graph has a cycle: {' -> '.join(error.args[1])}")
    print(text)
    if "--check" in sys.argv:
        page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
        shown = page.partition(BEGIN)[2].partition(END)[0].strip("\n")
        if shown != text:
            sys.exit(f"CONTRIBUTING.md shows another graph: copy the one above between {BEGIN} and {END}.")


if __name__ == "__main__":
    main()
