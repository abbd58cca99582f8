"""List function bodies over 45 lines and modules over 400 lines of the package; exit code 1 if there are any."""

import ast
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BODY, MODULE = 45, 400


def too_long(path):
    """What is too long in one file."""
    text = path.read_text(encoding="utf-8")
    name, n_lines = path.relative_to(ROOT), text.count("\n")
    if n_lines > MODULE:
        yield f"{name}: {n_lines} lines"
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            body = node.body[1:] if ast.get_docstring(node) else node.body
            length = node.end_lineno - body[0].lineno + 1 if body else 0
            if length > BODY:
                yield f"{name}:{node.lineno} {node.name}: {length} lines of body"


def main():
    found = [line for path in sorted((ROOT / "src").rglob("*.py")) for line in too_long(path)]
    print("\n".join(found) or f"No body over {BODY} lines, no module over {MODULE}.")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
