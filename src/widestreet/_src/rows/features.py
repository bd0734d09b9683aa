"""Features of some rows as a dense float64 array, whatever the storage."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from widestreet._src.arrays import Floats, Ints
from widestreet._src.rows.base import Rows


def features(rows: Rows, index: Ints | slice, *, centred: bool = True) -> Floats:
    """Return the features of some rows in float64.

    Parameters
    ----------
    rows : Rows
    index : ndarray or slice
    centred : bool
        If True, the centre of the rows is subtracted, if they have one.
    """
    X: Any = rows.data[index]
    dense: Floats = np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)
    centre = getattr(rows, "centre", None) if centred else None
    return dense if centre is None else dense - centre
