"""The command line: one file a command; parses, calls, prints."""

import sys


def main() -> None:
    """Run the command line, or say how to install what it needs."""
    try:
        from rarefy.cli._app import app
    except ModuleNotFoundError as error:
        sys.exit(f'The rarefy command needs {error.name}. Install it with: pip install "rarefy[cli]"')
    app()
