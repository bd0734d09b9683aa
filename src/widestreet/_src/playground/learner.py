"""Interface of what trains on the points of a board, and the models that it passes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from widestreet._src.arrays import Bytes, Floats
from widestreet._src.certificate import Certificate
from widestreet._src.playground.machines import Parameters, Point

MOST_FRAMES = 32  # models of one change that are shown

NO_SUPPORT, FREE_SUPPORT, BOUND_SUPPORT = 0, 1, 2  # kinds of support vectors


@dataclass(frozen=True, eq=False)
class Motion:
    """Models from before a change to after it; the last one is the present model.

    Attributes
    ----------
    coef : ndarray of shape (frames, rows)
        Coefficients of the points, followed by those of the points that left.
    intercept : ndarray of shape (frames,)
    tube : ndarray of shape (frames,)
        Half the width of the tube of a regression; zeros otherwise.
    support : ndarray of shape (frames, rows)
        Kind of each row in each model.
    pieces : int
        Number of straight pieces of the path.
    on_path : bool
        True if the models are breakpoints of the path from the model before. The path is linear
        between two neighbours unless some were left out.
    """

    coef: Floats
    intercept: Floats
    tube: Floats
    support: Bytes
    pieces: int = 0
    on_path: bool = False


def constant_motion(points: Sequence[Point], rows: int, *, labels: bool) -> Motion:
    """Return the model of points of one class, which is constant, or of no points.

    Parameters
    ----------
    points : sequence of Point
    rows : int
        Number of rows: the points, and those that left.
    labels : bool
        True if points have labels.
    """
    constant = 0.0
    if points and labels:
        constant = 1.0 if points[0].label else -1.0
    nothing = np.zeros((1, rows))
    return Motion(nothing, np.array([constant]), np.zeros(1), nothing.astype(np.uint8))


class Learner(Protocol):
    """An estimator that is trained on points and follows their changes."""

    @property
    def estimator(self) -> Any:
        """The estimator, trained on the points, or a copy."""
        ...

    def change(
        self, arriving: Sequence[Point], leaving: Sequence[Point], parameters: Parameters
    ) -> None:
        """Add points, remove points and change parameters. Sets: everything."""
        ...

    def motion(self, points: Sequence[Point], left: Sequence[Point]) -> Motion:
        """Return the models of the last change; `left` are the points that it removed."""
        ...

    def certificate(self) -> Certificate | None:
        """Return the certificate of the model; None if there is no model."""
        ...

    def counts(self) -> dict[str, int]:
        """Return figures about the training."""
        ...
