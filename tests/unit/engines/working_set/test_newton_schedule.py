"""When Newton steps are taken: by counted cost, and by what the last ones were worth."""

from __future__ import annotations

import pytest

from conftest import TOL
from support.working_sets import bench_at
from widestreet._src.engines.working_set import newton_schedule as pacing
from widestreet._src.engines.working_set.newton_schedule import FEW_FREE, Pacing


def middle(K, dual):
    return 0.5 * (dual.lower + dual.upper)


@pytest.fixture
def taken(monkeypatch) -> list[str]:
    """Names of the steps taken; both claim to be of use."""
    names: list[str] = []
    monkeypatch.setattr(pacing, "polish", lambda work: names.append("exact") or True)
    monkeypatch.setattr(pacing, "leap", lambda work, tol: names.append("proximal") or True)
    return names


def test_a_step_is_due_when_pair_steps_have_cost_as_much(taken):
    bench, pace = bench_at("c_svc", 400, 0, middle), Pacing()
    pace.begin()
    steps = pace.allowance(bench.work, TOL.violation)
    pace.spend(steps // 2)
    assert not pace.due
    pace.spend(pace.allowance(bench.work, TOL.violation))
    assert pace.due
    pace.newton(bench.work, TOL.violation, 1.0)
    assert taken == ["exact"]
    assert not pace.due


def test_many_free_variables_take_proximal_steps(taken):
    bench, pace = bench_at("c_svc", FEW_FREE + 1, 0, middle), Pacing()
    pace.begin()
    pace.allowance(bench.work, TOL.violation)
    pace.newton(bench.work, TOL.violation, 1.0)
    assert taken == ["proximal"]


def test_steps_that_help_come_sooner_and_others_later(taken):
    bench, pace = bench_at("c_svc", FEW_FREE + 1, 0, middle), Pacing()
    pace.begin()
    first = pace.allowance(bench.work, TOL.violation)
    for violation in (1.0, 0.9, 0.8):  # hardly anything gained
        pace.newton(bench.work, TOL.violation, violation)
    later = pace.allowance(bench.work, TOL.violation)
    assert later > first
    for violation in (0.1, 0.01):
        pace.newton(bench.work, TOL.violation, violation)
    assert pace.allowance(bench.work, TOL.violation) < later


def test_too_many_variables_are_left_to_pair_steps(monkeypatch):
    bench, pace = bench_at("c_svc", FEW_FREE + 1, 0, middle), Pacing()
    monkeypatch.setattr(pacing, "MOST", FEW_FREE)
    pace.begin()
    pace.spend(pace.allowance(bench.work, TOL.violation))
    assert not pace.due


def test_a_new_working_set_starts_afresh():
    bench, pace = bench_at("c_svc", 100, 0, middle), Pacing()
    pace.allowance(bench.work, TOL.violation)
    pace.spend(1 << 40)
    assert pace.due
    pace.begin()
    assert not pace.due
