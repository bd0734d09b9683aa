"""Coefficients of an ensemble after every step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from widestreet._src.arrays import Floats, Ints


@dataclass(frozen=True, eq=False)
class Stages:
    """Coefficients of the model after every step.

    Attributes
    ----------
    vectors : ndarray or CSR
        The distinct rows.
    column : ndarray
        Indices of these rows among the training rows.
    rows : list of ndarray
        Indices into `vectors` of the rows of each pair of classes.
    coefs : list of ndarray of shape (steps, rows)
    raised : bool
        True if 1 was added to all kernel values.
    """

    vectors: Any
    column: Ints
    rows: list[Ints]
    coefs: list[Floats]
    raised: bool
