"""Run the command ``widestreet`` by ``python -m widestreet``."""

from widestreet.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
