"""The size of a working set follows from the memory, and too little memory is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from support.fitting import build_dual
from support.problems import toy_svc, toy_svr
from support.settings import settings
from widestreet._src.rows import as_rows
from widestreet._src.rows.levels import bytes_of_levels
from widestreet._src.training.memory_of_fit import (
    least_memory,
    with_room_for_levels,
    working_set_capacity,
)


@pytest.mark.parametrize("model", ["c_svc", "eps_svr"])
@pytest.mark.parametrize("rows", [10, 300, 5000])
def test_the_least_memory_is_enough_for_a_small_working_set(model, rows):
    dual = build_dual(model, (toy_svc(rows) if model == "c_svc" else toy_svr(rows)).y, C=1.0)
    least = least_memory(dual, 5)
    assert working_set_capacity(least, dual, 5) >= min(256, rows)
    with pytest.raises(ValueError, match=rf"max_memory.*{rows:,} rows.*at least {least:,} bytes"):
        working_set_capacity(least - 1, dual, 5)


def test_a_tile_and_its_copy_fit_into_the_memory():
    dual = build_dual("c_svc", toy_svc(1000).y, C=1.0)
    sizes = [working_set_capacity(memory, dual, 5) for memory in (10**8, 10**9, 10**10)]
    assert sizes == sorted(set(sizes))
    for memory, size in zip((10**8, 10**9, 10**10), sizes, strict=True):
        assert 2 * 8 * size**2 <= memory


def test_more_columns_and_more_layers_need_more():
    svc = build_dual("c_svc", toy_svc(1000).y, C=1.0)
    svr = build_dual("eps_svr", toy_svr(1000).y, C=1.0)
    assert least_memory(svc, 5) < least_memory(svc, 50)
    assert least_memory(svc, 5) < least_memory(svr, 5)


def test_levels_are_counted_or_left_out(rng):
    rows = as_rows(rng.integers(0, 256, (4200, 33)) / 255.0)
    dual = build_dual("c_svc", np.where(rng.random(4200) < 0.5, 1.0, -1.0), C=1.0)
    needed, least = bytes_of_levels(rows), least_memory(dual, 33)
    assert needed == 4200 * 36
    plenty = replace(settings(), max_memory=2 * least)
    kept, left = with_room_for_levels(rows, dual, plenty)
    assert kept is rows
    assert left.max_memory == 2 * least - needed
    for short in (least, least + needed - 1):
        kept, left = with_room_for_levels(rows, dual, replace(plenty, max_memory=short))
        assert kept.grid is None
        assert left.max_memory == short
    plain = as_rows(rng.normal(size=(4200, 33)))
    assert with_room_for_levels(plain, dual, plenty) == (plain, plenty)
