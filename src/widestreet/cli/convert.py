"""Write a saved model in another format.

The ending of OUTPUT says which: .street, .skops, .onnx, or .model for a text model of LIBSVM.
.street and .model hold one estimator, without preprocessing. .onnx holds an estimator, or a
pipeline with inputs of float32: X for a table of numbers, and otherwise one per column, of text
where the column is text. A text model of LIBSVM has no parameters C, nu and epsilon: state them if
MODEL is one.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from widestreet.cli import models
from widestreet.cli.streams import result

SUMMARY = "write a saved model in another format"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    models.configure(parser)
    parser.add_argument("output", type=Path, metavar="OUTPUT", help="file to write")


def run(options: argparse.Namespace) -> int:
    """Write the file and return 0."""
    models.check_ending(options.output)
    models.check_writable(options.output)
    models.save_model(models.load_model(options), options.output)
    result(options.output)
    return 0
