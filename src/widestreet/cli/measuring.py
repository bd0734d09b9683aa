"""The options that `widestreet race` and `widestreet reproduce` share."""

from __future__ import annotations

import argparse
from pathlib import Path


def configure(parser: argparse.ArgumentParser, folder: str) -> None:
    """Declare the arguments; `folder` is the default of `--out`."""
    add = parser.add_argument
    add("--quick", action="store_true", help="less data and fewer repetitions: five minutes")
    add("--list", action="store_true", help="list what would be run, and what is missing")
    add("--threads", type=int, metavar="N", help="threads of every fit (all processors)")
    add("--out", type=Path, metavar="DIR", help=f"records and report ({folder})")
    add("--report", type=Path, metavar="FILE", help="write the report there too, files beside it")
    add("--fresh", action="store_true", help="measure again what was measured before")
    add("--no-run", action="store_true", help="only report on what was measured before")
    add("--download", action="store_true", help="let scikit-learn fetch data that are missing")
