"""The files of the page, which the server and the notebook widget share."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

_PARTS = ("field.js", "plot.js", "page.js")  # of one module, in this order


@cache
def text_of(name: str) -> str:
    """Return a file of the page as text."""
    return (files(__package__) / "static" / name).read_text(encoding="utf-8")


@cache
def script() -> str:
    """Return the script of the page, one module: notebooks cannot import a second one."""
    return "\n".join(map(text_of, _PARTS))
