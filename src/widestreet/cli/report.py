"""Write a page about a saved model: one HTML file that needs no network.

DATA are the training rows, for leave-one-out predictions and the rows of the largest influence; the
page has all else without them. Prints the name of the page.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from widestreet.cli import models, tables
from widestreet.cli.predict import load_with_rows, read_for
from widestreet.cli.streams import result

SUMMARY = "write a page about a saved model"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    models.configure(parser)
    add = parser.add_argument
    add("data", nargs="?", metavar="DATA", help="file of the training rows")
    tables.configure(parser)
    add("--test", metavar="FILE", help="file of test rows, with the same columns")
    add("-o", "--output", type=Path, metavar="FILE", help="file of the page; default: MODEL.html")
    add("--max-time", type=float, default=10.0, metavar="SECONDS",
        help="time that leave-one-out may take (%(default)s)")  # fmt: skip
    add("--open", action="store_true", help="show the page in a browser")


def run(options: argparse.Namespace) -> int:
    """Write the page and return 0."""
    import widestreet as ws

    path = options.output or options.model.with_suffix(".html")
    models.check_writable(path)
    given, test = {}, (None, None)
    if options.data is None:
        model = models.load_model(options)
    else:
        model, rows = load_with_rows(options, options.data)
        given = {"X": rows.X, "y": rows.y, "sample_weight": rows.weight}
    if options.test is not None:
        new = read_for(model, options, options.test)
        test = (new.X, new.y)
    report = ws.ModelReport(model, *test, **given, max_time=options.max_time)
    report.write_html(path)
    result(path)
    if options.open:
        report.open()
    return 0
