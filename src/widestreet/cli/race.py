"""Time this library against others, to the same certified accuracy.

Every library trains on the same data in a process of its own; its solution is examined by our
certificate. Ends with a table of ratios and a report with plots. The full race takes hours and
continues where it was interrupted; --quick takes five minutes. Real data are read from the folder
WIDESTREET_DATA.
"""

from __future__ import annotations

import argparse

from widestreet.cli import measuring

SUMMARY = "time it against other libraries, to the same certified accuracy"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    measuring.configure(parser, "widestreet-race")
    add = parser.add_argument
    add("--data", action="append", metavar="NAME", help="only this data set; may be repeated")
    add("--solver", action="append", metavar="NAME", help="only this solver; may be repeated")
    add("--limit", type=float, metavar="SECONDS", help="for one fit, if less than planned")
    add("--note", metavar="TEXT", help="a remark about this run, for the report")
    add("--disturbed", action="store_true", help="measure again what other processes disturbed")


def run(options: argparse.Namespace) -> int:
    """Run the race and return 0."""
    from widestreet._experiments.race.command import main

    return main(options)
