"""Time this library against others, to the same certified accuracy.

Every library trains on the same data in a process of its own; its solution is examined by our
certificate. Ends with a table of ratios and a report with plots. The full race takes hours and
goes on where it was interrupted; --quick takes five minutes. Real data are looked for in the
directory WIDESTREET_DATA.
"""

from __future__ import annotations

import argparse
from importlib import import_module
from pathlib import Path

SUMMARY = "time it against other libraries, to the same certified accuracy"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments.

    Parameters
    ----------
    parser : argparse.ArgumentParser
        The subcommand's parser.
    """
    add = parser.add_argument
    add("--quick", action="store_true", help="five minutes, mostly generated data")
    add("--list", action="store_true", help="list solvers and data, and what is missing")
    add("--data", action="append", metavar="NAME", help="only this data set; may be repeated")
    add("--solver", action="append", metavar="NAME", help="only this solver; may be repeated")
    add("--threads", type=int, metavar="N", help="threads for everybody (every processor)")
    add("--limit", type=float, metavar="SECONDS", help="for one fit, if less than planned")
    add("--out", type=Path, metavar="DIR", help="records and report (widestreet-race)")
    add("--report", type=Path, metavar="FILE", help="write the report there too, plots beside it")
    add("--note", metavar="TEXT", help="a remark about this run, for the report")
    add("--fresh", action="store_true", help="measure again what was measured before")
    add("--disturbed", action="store_true", help="measure again what other processes disturbed")
    add("--no-run", action="store_true", help="only report on what was measured before")
    add("--download", action="store_true", help="let scikit-learn fetch data that are missing")


def run(options: argparse.Namespace) -> int:
    """Run the race.

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
    race = import_module("widestreet.benchmarks.race")
    status: int = race.main(options)
    return status
