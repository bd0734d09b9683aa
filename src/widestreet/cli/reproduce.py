"""Measure a paper's tables and figures again: its algorithm, ours and LIBSVM side by side.

Writes a page with the paper's numbers beside ours, a CSV file for each table and a PNG file for
each figure. A full run takes about half an hour and continues where it was interrupted; --quick
takes less than five minutes. Real data are read from the folder WIDESTREET_DATA; missing data are
left out, and the report says which and how to get them.
"""

from __future__ import annotations

import argparse

from widestreet.cli import measuring

SUMMARY = "measure a paper's tables and figures again"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    papers = "isvm, prsvm, randsvm, insvr or ensemble"
    parser.add_argument("paper", nargs="?", metavar="PAPER", help=papers)
    measuring.configure(parser, "widestreet-reproduction-...")


def run(options: argparse.Namespace) -> int:
    """Run the paper's plan, write its page and return 0."""
    from widestreet._experiments.papers.command import main

    return main(options)
