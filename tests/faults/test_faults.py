"""A few faults of each kind; `make faults` causes as many as a release demands."""

from __future__ import annotations

import os

import numpy as np
import pytest

from faults import allocations, budgets
from faults.driver import cause

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs POSIX")


@pytest.mark.parametrize(
    ("kind", "count"), [("interrupts", 6), ("allocations", 5), ("kills", 10), ("files", 4)]
)
def test_faults(kind, count):
    if kind == "allocations" and allocations.compiler() is None:
        pytest.skip("needs a compiler and glibc")
    report = cause(kind, count, seed=0)
    assert report.failures == []
    assert sum(report.outcomes.values()) == count


@pytest.mark.in_process("shards behind a pickling port are copies: the rows are held twice")
@pytest.mark.skipif(not os.access("/proc/self/clear_refs", os.W_OK), reason="needs Linux")
def test_a_budget_of_memory():
    """Of two groups of variables: blocks are copies of the tile, and factors are large."""
    budgets.Budgets()(budgets.TWO_GROUPS, np.random.default_rng(0))


@pytest.mark.skipif(not os.access("/proc/self/clear_refs", os.W_OK), reason="needs Linux")
def test_a_budget_of_memory_smaller_than_the_rows():
    budgets.Budgets()(budgets.STORED, np.random.default_rng(0))
