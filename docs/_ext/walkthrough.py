"""Runs the tutorials while the pages are built, in the order in which a reader would.

A page of `tutorials/` is read from top to bottom in an empty folder: Python without prompts is executed, `>>>` examples
are executed and compared, and so are the `$` lines of console blocks. What was printed must be what the page says,
with `...` for what may differ, as in doctests; anything else is a warning, and `make docs` treats warnings as errors.
The `report.html` that commands write is published beside the pages, in `reports/`.
"""

import contextlib
import doctest
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

from click.testing import CliRunner
from sphinx.util import logging

logger = logging.getLogger(__name__)

_BLOCK = re.compile(r"^\.\. code-block:: (python|console)\n(?:   :.*\n)*\n((?:   .*\n|\n)+)", re.MULTILINE)
_FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def steps(page):
    """Kind, text and first line of every block that is run."""
    found = [(m.start(), m[1], "\n".join(line[3:] for line in m[2].splitlines())) for m in _BLOCK.finditer(page)]
    examples = doctest.DocTestParser().parse(page)
    place = 0
    for piece in examples:
        if isinstance(piece, str):
            place += len(piece)
            continue
        place = page.index(">>> " + piece.source.splitlines()[0], place)
        found.append((place, "example", piece))
    return [
        (kind, text, page.count("\n", 0, place) + 1) for place, kind, text in sorted(found, key=lambda step: step[0])
    ]


def commands(block):
    """Each command of a console block, and what it prints."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        lines = part.splitlines()
        n = next(i for i, line in enumerate(lines) if not line.endswith("\\")) + 1
        yield " ".join(line.rstrip("\\").strip() for line in lines[:n]), "\n".join(lines[n:]).strip("\n") + "\n"


def run_command(command):
    """What a command prints; commands of rarefy run in this process, which saves most of their time."""
    if not command.startswith("rarefy "):
        done = subprocess.run(command, shell=True, capture_output=True, text=True)
        return done.stdout + done.stderr
    from rarefy.cli._app import app

    result = CliRunner(env={"COLUMNS": "110"}).invoke(app, shlex.split(command)[1:], prog_name="rarefy")
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.output


def run_page(text):
    """Run a page in the current folder; what differs, as (line, what was run, what was printed)."""
    names, checker = {}, doctest.OutputChecker()
    for kind, step, line in steps(text):
        if kind == "python":
            exec(compile(step, "tutorial", "exec"), names)
        elif kind == "example":
            test = doctest.DocTest([step], names, "tutorial", None, line, None)
            printed = []
            runner = doctest.DocTestRunner(optionflags=_FLAGS)
            if runner.run(test, out=printed.append, clear_globs=False).failed:
                yield line, step.source.strip(), "".join(printed)
            names = test.globs
        else:
            for command, expected in commands(step):
                printed = run_command(command)
                if not checker.check_output(expected, printed, _FLAGS):
                    yield line, command, printed


def _run(app, docname, content):
    if not docname.startswith("tutorials/") or docname == "tutorials/index" or app.builder.format != "html":
        return
    published = Path(app.outdir) / "reports"
    published.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for line, step, printed in run_page(content[0]):
            logger.warning(
                "%s printed something else:\n%s", step, printed, location=(docname, line), type="walkthrough"
            )
        if Path("report.html").is_file():
            shutil.copy("report.html", published / f"{Path(docname).name}-report.html")


def setup(app):
    """Connect to Sphinx."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    app.connect("source-read", _run)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
