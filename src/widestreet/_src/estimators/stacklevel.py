"""The stacklevel of warnings that point at the user's own line."""

from __future__ import annotations

import sys

_INNER = ("widestreet.", "sklearn.callback", "contextlib")  # the last two wrap our own frames


def level_of_caller() -> int:
    """Return the stacklevel of a warning of the calling function that points at the user."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals["__name__"].startswith(_INNER):
        frame, level = frame.f_back, level + 1
    return level
