"""The time of a function call."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any


def seconds(work: Callable[..., Any], *arguments: Any) -> float:
    """Return the wall-clock seconds of one call."""
    begun = time.perf_counter()
    work(*arguments)
    return time.perf_counter() - begun
