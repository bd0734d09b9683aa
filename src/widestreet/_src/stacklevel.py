"""Stack level of warnings that point at the code of the user."""

from __future__ import annotations

import sys
from types import FrameType

_INTERNAL_MODULES = (
    "widestreet.",
    "sklearn.callback",
    "contextlib",
)  # the last two wrap internal frames


def level_of_caller() -> int:
    """Return the stack level with which a warning of the calling function points at user code."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and _module(frame).startswith(_INTERNAL_MODULES):
        frame, level = frame.f_back, level + 1
    return level


def _module(frame: FrameType) -> str:
    """Return the name of the module of a frame; code run by `exec` may have none."""
    return str(frame.f_globals.get("__name__", ""))
