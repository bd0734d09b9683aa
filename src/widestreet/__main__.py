"""``python -m widestreet`` is the command ``widestreet``."""

from widestreet.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
