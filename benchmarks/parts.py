"""A benchmark in parts, each of which makes a table."""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Mapping

Parts = Mapping[str, Callable[[int], str]]


def configure(parser: argparse.ArgumentParser, parts: Parts) -> None:
    parser.add_argument("--threads", type=int, default=2, metavar="N")
    parser.add_argument("--only", choices=sorted(parts), help="one part")


def show(options: argparse.Namespace, parts: Parts) -> int:
    """Print a table for each part."""
    warnings.simplefilter("ignore")
    for name, part in parts.items():
        if options.only in (None, name):
            print(f"### {name}\n\n{part(options.threads)}\n", flush=True)
    return 0
