"""Changes between two lists of coefficients."""

from __future__ import annotations

import numpy as np
import pytest

from widestreet import _core

pytestmark = pytest.mark.numeric

NOTHING = np.empty(0, dtype=np.int64), np.empty(0)


def coefficients(rng, rows, size):
    """Coefficients of some rows, many of them equal."""
    ids = np.sort(rng.choice(rows, size, replace=False))
    return ids, rng.integers(-2, 3, size).astype(np.float64)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("sizes", [(40, 30), (3, 0), (0, 0), (70_000, 300), (20_000, 60_000)])
def test_changes_of_all_rows(sizes, threads, rng):
    rows = 2 * max(sizes) + 1
    (ids, coef), (ids_before, coef_before) = (coefficients(rng, rows, size) for size in sizes)
    change = np.zeros(rows)
    change[ids] = coef
    change[ids_before] -= coef_before
    found, values = _core.changes(ids, coef, ids_before, coef_before, threads)
    assert np.array_equal(found, np.flatnonzero(change))
    assert np.array_equal(values, change[found])


def test_equal_lists_have_no_changes(rng):
    one = coefficients(rng, 100, 30)
    found, values = _core.changes(*one, *one, 1)
    assert len(found) == len(values) == 0


def test_values_that_are_no_numbers_are_changes():
    found, values = _core.changes(np.array([4]), np.array([np.nan]), *NOTHING, 1)
    assert found.tolist() == [4]
    assert np.isnan(values).all()


def test_lists_out_of_order_are_safe(rng):
    ids = rng.permutation(50_000)
    found, values = _core.changes(ids, np.ones(50_000), ids[::-1].copy(), np.ones(50_000), 2)
    assert len(found) == len(values) <= 100_000


def test_each_row_has_a_coefficient():
    with pytest.raises(ValueError, match="one coefficient per row"):
        _core.changes(np.array([1]), np.empty(0), *NOTHING, 1)
