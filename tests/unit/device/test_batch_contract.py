"""What devices promise of problems that are solved side by side."""

from __future__ import annotations

import numpy as np
import pytest

from support.batches import Pairs
from support.devices import DEVICES
from widestreet._src.device.batch_contract import Extent, Standings
from widestreet._src.engines.working_set.batch_on_device import _joined
from widestreet._src.kernels.on_device import Resident

LAST = Extent(1e-3, 0.2, 0.03, 5000, 10**6)


def test_violations_are_differences_of_the_ends():
    one = np.array([1.0, 2.0])
    found = Standings(one, 2 * one, one, one, one, one).violation
    np.testing.assert_array_equal(found, one)


def begun(where: str) -> tuple[Pairs, Resident, object]:
    pairs = Pairs(where)
    there, (variables, _) = pairs.resident, _joined(pairs.parts)
    rows = there.places(np.concatenate([part.rows for part in pairs.parts]))
    return pairs, there, there.batch(rows, pairs.sizes, variables, 1e-4, 64)


@pytest.mark.parametrize("where", DEVICES)
def test_at_zero_every_row_violates(where):
    pairs, _, batch = begun(where)
    now = batch.look()
    np.testing.assert_array_equal(now.highest, 1.0)
    np.testing.assert_array_equal(now.lowest, -1.0)
    np.testing.assert_array_equal(now.violators, pairs.sizes)
    assert not now.free.any()
    assert not now.steps.any()
    assert not now.values.any()
