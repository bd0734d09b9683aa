"""When Newton steps on a device are due."""

from __future__ import annotations

from widestreet._src.device.contract import Look
from widestreet._src.engines.working_set.device_schedule import DevicePacing

FEW, SOME = Look(1.0, 0.0, 50, 50), Look(1.0, 0.0, 600, 50)
MANY = Look(1.0, 0.0, 5000, 50_000)


def test_newton_steps_of_many_rows_are_never_due():
    pace = DevicePacing(spent=1e9)
    assert pace.due(FEW)
    assert not pace.due(MANY)


def test_newton_steps_fit_in_memory():
    pace = DevicePacing(spent=1e9)
    pace.limit(64 * 100**2)  # of 100 rows, which 50 free ones and 50 that violate need
    assert pace.due(FEW)
    pace.limit(64 * 99**2)
    assert not pace.due(FEW)
    pace.limit(1 << 60)
    assert not pace.due(MANY)


def test_pair_steps_are_allowed_until_a_newton_step_is_due():
    pace = DevicePacing()
    allowed = pace.allowed(SOME, 1024)
    assert not pace.due(SOME)
    pace.spend(allowed + 1, 1024)
    assert pace.due(SOME)
    pace.begin()
    assert not pace.due(SOME)


def test_useless_newton_steps_become_rare():
    pace = DevicePacing()
    before = pace.cost(FEW)
    pace.took(1.0, 6)
    pace.took(1.0, 6)
    pace.took(1.0, 6)
    assert pace.cost(FEW) > before
    rare = pace.cost(FEW)
    pace.took(0.1, 6)
    assert pace.cost(FEW) < rare


def test_steps_on_the_host_count_too():
    pace = DevicePacing()
    pace.spend_on_host(100_000, 256)
    assert pace.due(FEW)
    assert pace.steps_of_block == 100_000
    pace.spend(900, 256, blocks=3)
    assert pace.steps_of_block == 300


def test_newton_steps_on_few_rows_are_rare():
    pace = DevicePacing()
    pace.spent = 1.01 * pace.cost(SOME)
    assert pace.due(SOME)
    assert not pace.due(FEW)
