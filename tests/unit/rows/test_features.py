"""Features of some rows: the same for every storage."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from widestreet._src.rows import as_rows
from widestreet._src.rows.features import features


@pytest.mark.parametrize("index", [np.array([4, 0, 4]), slice(1, 3)], ids=["index", "slice"])
def test_features_are_those_of_the_rows(index, rng):
    X = rng.standard_normal((6, 3))
    for rows in (as_rows(X), as_rows(sparse.csr_array(X))):
        assert np.array_equal(features(rows, index), X[index])
    rows = as_rows(X.astype(np.float32), centred=True)
    assert features(rows, index).dtype == np.float64
    assert np.array_equal(features(rows, index), X.astype(np.float32)[index] - rows.centre)
    assert np.array_equal(features(rows, index, centred=False), X.astype(np.float32)[index])
