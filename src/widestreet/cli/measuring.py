"""Options of both `widestreet race` and `widestreet reproduce`."""

from __future__ import annotations

import argparse
from pathlib import Path


def configure(parser: argparse.ArgumentParser, folder: str) -> None:
    """Declare the arguments; `folder` is the default of `--out`."""
    add = parser.add_argument
    add(
        "--quick",
        action="store_true",
        help="use less data and fewer repetitions: about five minutes",
    )
    add(
        "--list",
        action="store_true",
        help="list the planned runs and the missing data and packages",
    )
    add("--threads", type=int, metavar="N", help="number of threads of every fit (all processors)")
    add("--out", type=Path, metavar="DIR", help=f"folder of records and report ({folder})")
    add(
        "--report",
        type=Path,
        metavar="FILE",
        help="also write the report to this file, with its plots beside it",
    )
    add("--fresh", action="store_true", help="repeat measurements that exist already")
    add("--no-run", action="store_true", help="write the report from existing measurements only")
    add("--download", action="store_true", help="let scikit-learn download missing data")
