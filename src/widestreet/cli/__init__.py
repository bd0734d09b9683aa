"""The command ``widestreet``.

Each subcommand is a module of this package, listed in `COMMANDS`. The name of the subcommand is the
name of the module. The module has a one-line ``SUMMARY``, a function ``configure(parser)`` that
declares its arguments, and a function ``run(options)`` that runs it and returns the exit status.
Modules that are slow to import are imported in ``run``.

Results are printed to the standard output stream, progress and warnings to the standard error
stream. Exit status: 0 success; 1 the model is not certified optimal; 2 invalid arguments or input;
130 interrupted.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Sequence
from importlib.metadata import version
from types import ModuleType
from typing import Any

from widestreet.cli import (
    completion,
    convert,
    demo,
    fit,
    inspect,
    play,
    predict,
    race,
    report,
    reproduce,
    verify,
)

__all__ = ["main"]

COMMANDS: tuple[ModuleType, ...] = (
    fit,
    predict,
    inspect,
    verify,
    report,
    convert,
    play,
    completion,
    demo,
    race,
    reproduce,
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    arguments : sequence of str or None, default=None
        Command-line arguments after ``widestreet``; None reads them from ``sys.argv``.

    Returns
    -------
    int
        The exit status.
    """
    options = make_parser().parse_args(arguments)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning  # type: ignore[assignment]
            status: int = options.run(options)
    except KeyboardInterrupt:
        sys.stderr.write("widestreet: interrupted\n")
        return 130
    except (ValueError, TypeError, ImportError, OSError) as error:
        sys.stderr.write(f"widestreet: {error}\n")
        return 2
    return status


def _show_warning(message: Warning | str, *place: Any) -> None:
    """Print a warning as one line, without the place in the source."""
    sys.stderr.write(f"widestreet: warning: {message}\n")


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of ``widestreet`` and of all its subcommands."""
    parser = argparse.ArgumentParser(
        prog="widestreet",
        description="Kernel support vector machines on large data, with a certificate.",
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {version('widestreet')}")
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in COMMANDS:
        subparser = subparsers.add_parser(
            command.__name__.rpartition(".")[2],
            help=command.SUMMARY,
            description=command.__doc__,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.configure(subparser)
        subparser.set_defaults(run=command.run)
    return parser
