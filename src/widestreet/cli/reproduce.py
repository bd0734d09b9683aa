"""Repeat the experiments of a paper with its algorithm, ours and LIBSVM.

Writes a page with the numbers of the paper and ours, a CSV file for each table and a PNG file for
each figure. A full run takes about half an hour; if it is interrupted, the next run continues it.
--quick takes less than five minutes. Real data are read from the folder in the environment variable
WIDESTREET_DATA. Missing data are left out, and the report states which and how to get them.
"""

from __future__ import annotations

import argparse

from widestreet.cli import measuring

SUMMARY = "repeat the experiments of a paper"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    papers = "isvm, prsvm, randsvm, insvr or ensemble"
    parser.add_argument("paper", nargs="?", metavar="PAPER", help=papers)
    measuring.configure(parser, "widestreet-reproduction-...")


def run(options: argparse.Namespace) -> int:
    """Run the paper's plan, write its page and return 0."""
    from widestreet._experiments.papers.command import main

    return main(options)
