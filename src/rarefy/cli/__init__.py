"""The command line, one file for each command: parse, call, print."""

import sys


def main() -> None:
    """Run the command line, or exit with the command that installs what it needs."""
    try:
        from rarefy.cli._app import app

        app(prog_name="rarefy")  # also for python -m
    except ModuleNotFoundError as error:
        sys.exit(f'The rarefy command needs {error.name}. Install it with: pip install "rarefy[cli]"')
    except KeyboardInterrupt:  # while modules are imported
        sys.stderr.write("Stopped. Nothing was written that is not complete.\n")
        sys.exit(130)
