"""Results go to the standard output stream, remarks to the standard error stream."""

from __future__ import annotations

import sys


def result(text: object, end: str = "\n") -> None:
    """Print a result."""
    sys.stdout.write(f"{text}{end}")


def remark(text: object) -> None:
    """Print a remark about what is done."""
    sys.stderr.write(f"{text}\n")
