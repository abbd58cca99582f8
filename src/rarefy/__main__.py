"""python -m rarefy: the command line."""

from rarefy.cli import main

if __name__ == "__main__":
    main()
