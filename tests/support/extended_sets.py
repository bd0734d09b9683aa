"""Extended sets at a given point, for the tests of INSVR."""

from __future__ import annotations

import numpy as np

from widestreet._src.engines.insvr.extended_set import (
    ERROR_VECTOR,
    MARGIN_VECTOR,
    REMAINING_VECTOR,
    ExtendedSet,
)


def extended_set(y, alpha, C: float = 1.0, bias: float = 0.0, tube: float = 0.0) -> ExtendedSet:
    """Return orthogonal samples (K is the identity) at a given point; alpha per variable."""
    subject = ExtendedSet(C)
    for i, target in enumerate(y):
        subject.append(np.zeros(i), 1.0, target)
    subject.alpha[:] = alpha
    subject.state[:] = np.select(
        [subject.alpha == 0, subject.alpha == C], [REMAINING_VECTOR, ERROR_VECTOR], MARGIN_VECTOR
    )
    subject.bias, subject.tube = bias, tube
    subject.refresh()
    return subject
