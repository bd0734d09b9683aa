"""Measure the training time of this library and of others at equal certified accuracy.

Every library trains on the same data in its own process, and our certificate examines its solution.
The result is a table of ratios and a report with plots. The full race takes hours; if it is
interrupted, the next run continues it. --quick takes five minutes. Real data are read from the
folder in the environment variable WIDESTREET_DATA.
"""

from __future__ import annotations

import argparse

from widestreet.cli import measuring

SUMMARY = "compare training times with other libraries at equal certified accuracy"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    measuring.configure(parser, "widestreet-race")
    add = parser.add_argument
    add("--data", action="append", metavar="NAME", help="only this data set; may be repeated")
    add("--solver", action="append", metavar="NAME", help="only this solver; may be repeated")
    add(
        "--limit",
        type=float,
        metavar="SECONDS",
        help="time limit of one fit, if shorter than planned",
    )
    add(
        "--seeds",
        type=int,
        metavar="N",
        help="number of random seeds of our own fits of each problem (20; 0 with --quick)",
    )
    add(
        "--instruction-set",
        action="append",
        metavar="NAME",
        help="instruction set of these fits; may be repeated (all vector ones of this machine)",
    )
    add("--note", metavar="TEXT", help="remark about this run for the report")
    add(
        "--disturbed",
        action="store_true",
        help="repeat measurements that other processes disturbed",
    )


def run(options: argparse.Namespace) -> int:
    """Run the race and return 0."""
    from widestreet._experiments.race.command import main

    return main(options)
