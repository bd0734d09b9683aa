"""The size of a working set follows from the memory, and too little memory is refused."""

from __future__ import annotations

import pytest

from support.fitting import build_dual
from support.problems import toy_svc, toy_svr
from widestreet._src.training.memory_of_fit import least_memory, working_set_capacity


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
