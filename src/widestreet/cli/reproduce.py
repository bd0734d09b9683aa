"""Measure a paper's tables and figures again: its algorithm, ours and LIBSVM side by side.

Writes a page with the paper's numbers beside ours, a CSV file for each table and a PNG file for
each figure. A full run takes half an hour or so and goes on where it was interrupted; --quick takes
less than five. Real data are looked for in the directory WIDESTREET_DATA; what is missing is left
out, and the report says what and how to get it.
"""

from __future__ import annotations

import argparse
from importlib import import_module
from pathlib import Path

SUMMARY = "measure a paper's tables and figures again"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments.

    Parameters
    ----------
    parser : argparse.ArgumentParser
        The subcommand's parser.
    """
    add = parser.add_argument
    add("paper", nargs="?", metavar="PAPER", help="isvm, prsvm, randsvm, insvr or ensemble")
    add("--quick", action="store_true", help="less data, fewer repetitions, five minutes")
    add("--list", action="store_true", help="list what would be run, and what is missing")
    add("--threads", type=int, metavar="N", help="threads (every processor)")
    add("--out", type=Path, metavar="DIR", help="records and report (widestreet-reproduction-...)")
    add("--report", type=Path, metavar="FILE", help="write the report there too, files beside it")
    add("--fresh", action="store_true", help="measure again what was measured before")
    add("--no-run", action="store_true", help="only report on what was measured before")
    add("--download", action="store_true", help="let scikit-learn fetch data that are missing")


def run(options: argparse.Namespace) -> int:
    """Run the paper's plan and write the report.

    Parameters
    ----------
    options : argparse.Namespace
        What `configure` declared.

    Returns
    -------
    int
        0.
    """
    # beside this package in a wheel, and not under src in a checkout: no static import
    reproductions = import_module("widestreet.reproductions.main")
    status: int = reproductions.main(options)
    return status
