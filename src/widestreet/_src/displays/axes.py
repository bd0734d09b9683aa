"""Axes to draw on, and rows to draw."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Numbers: TypeAlias = npt.NDArray[np.floating[Any]]


def axes_of(ax: Axes | None) -> Axes:
    """Return the axes, or those of a new figure."""
    if ax is None:
        from matplotlib import pyplot

        _, ax = pyplot.subplots()
    return ax


def spaced(n: int, most: int) -> npt.NDArray[np.intp]:
    """Return at most `most` evenly spaced indices of ``range(n)``."""
    return np.unique(np.linspace(0, max(n - 1, 0), min(n, most)).astype(np.intp))
