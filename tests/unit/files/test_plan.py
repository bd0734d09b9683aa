"""How memory is divided."""

from __future__ import annotations

import pytest

from widestreet._src.files.plan import LEDGER_BYTES, Plan, fits_in_memory


@pytest.mark.parametrize("memory", [10**7, 10**8, 2 * 10**9, 10**11])
@pytest.mark.parametrize("rows", [100, 10**5])
@pytest.mark.parametrize("columns", [1, 500])
@pytest.mark.parametrize("layers", [1, 2])
def test_the_parts_are_within_the_whole(memory, rows, columns, layers):
    plan = Plan.of(memory, rows, columns, 4, layers)
    block = plan.block_rows * (2 * 4 * columns + 100 * layers)
    tile = 16 * plan.room**2
    assert LEDGER_BYTES * rows + block + tile <= memory
    assert plan.buffer_bytes <= memory / 4
    assert 1 <= plan.block_rows <= rows
    assert plan.room >= 256


def test_too_many_rows_are_refused():
    with pytest.raises(ValueError, match=r"max_memory=1,000,000 .* too small: 100,000 stored"):
        Plan.of(10**6, 10**5, 10, 4, 1)


def test_few_rows_fit_into_memory():
    assert fits_in_memory(10**9, 10**5, 20, 4, 1)
    assert not fits_in_memory(10**9, 10**7, 20, 4, 1)
