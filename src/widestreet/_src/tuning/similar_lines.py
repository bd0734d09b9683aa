"""Scores of all rows for lines of coefficients that are equal where they are not zero.

Folds start from the same solution: a row has the same coefficient in all folds that train on it. A
scan with one line of coefficients takes less time than one with a line for each fold. So

    1) columns are divided by the set of lines in which they are not zero
    2) each set with equal coefficients is scanned once, and its sums are added to these lines
    3) all other columns are scanned with all lines
"""

from __future__ import annotations

import numpy as np

from widestreet._src.arrays import Floats
from widestreet._src.kernels.gram import Gram, interpolated
from widestreet._src.kernels.poll import Poll

_MOST_SETS = 2  # per line: with more sets, scans are too small
_MOST_LINES = 62  # bits of a number


def scores_of_similar_lines(gram: Gram, lines: Floats, poll: Poll) -> Floats:
    """Return the scores of all rows for lines of coefficients of all rows, in float64."""
    count = len(lines)
    scores = np.zeros((count, gram.shape[0]))
    there = lines != 0
    used = there.any(axis=0)
    alike = np.zeros_like(used)
    if count <= _MOST_LINES and interpolated(gram, len(used), int(used.sum())) is None:
        value = np.take_along_axis(lines, np.abs(lines).argmax(axis=0)[None], axis=0)
        alike = used & ((lines == value) | ~there).all(axis=0)
        which = (1 << np.arange(count)) @ there
        sets = np.unique(which[alike])
        if len(sets) > _MOST_SETS * count:
            alike[:], sets = False, sets[:0]
        for one in sets:
            columns = np.flatnonzero(alike & (which == one))
            part = gram.scan(None, columns, value[0, columns], near=True, poll=poll)
            scores[there[:, columns[0]]] += part
    rest = np.flatnonzero(used & ~alike)
    if len(rest):
        other = np.ascontiguousarray(lines[:, rest])
        gram.scan(None, rest, other, out=scores, near=True, poll=poll)
    return scores
