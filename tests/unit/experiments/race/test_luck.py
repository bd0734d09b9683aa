"""Times over seeds and instruction sets."""

from __future__ import annotations

import pytest
from threadpoolctl import threadpool_limits

from widestreet import _core
from widestreet._experiments.harness.measure import measure
from widestreet._experiments.race import comparison, luck
from widestreet._experiments.race.plan import Leg


@pytest.fixture
def chosen():
    """Instruction set of the other tests, which is restored."""
    name = _core.instruction_set()
    yield name
    _core.force_instruction_set(name)


def record(seconds, values=(5, 5, 5), problem="twonorm"):
    one = luck.measurement(Leg(problem, 200), len(seconds), "avx2", 1)
    found = {"seconds_each": seconds, "kernel_values_each": values}
    return one.facts | found | {"status": "answer", "certificates": ["optimal"] * len(seconds)}


@pytest.mark.usefixtures("chosen")
def test_every_seed_is_measured():
    one = luck.measurement(Leg("twonorm", 200), 3, "portable", 1)
    with threadpool_limits(1):
        (found,) = measure(luck.EXPERIMENT, [one])
    assert _core.instruction_set() == "portable"
    assert len(found["seconds_each"]) == len(found["kernel_values_each"]) == 3
    assert found["certificates"] == ["optimal"] * 3
    assert found["seconds"] >= sum(found["seconds_each"])


def test_vector_instruction_sets_come_first(monkeypatch):
    monkeypatch.setattr(luck._core, "instruction_sets", lambda: ["avx2", "portable"])
    assert luck.instruction_sets() == ["avx2"]
    monkeypatch.setattr(luck._core, "instruction_sets", lambda: ["portable"])
    assert luck.instruction_sets() == ["portable"]


def test_the_median_and_the_worst_time_are_shown():
    found = luck.table([record([1.0, 2.0, 4.0], [10, 20, 30])])
    assert "| twonorm | 200 | avx2 | 3 | 2 | 4 | 2.00 | 1.50 | 3 |" in found


def test_problems_far_above_the_median_are_named():
    records = [record([1.0, 1.0, 1.4]), record([1.0, 1.0, 1.6], problem="ringnorm")]
    assert luck.unfair(records[:1]) == "No worst time exceeds 1.5 times the median."
    assert luck.unfair(records).endswith("median: ringnorm (avx2, 1.6).")


def test_the_comparison_leaves_them_out():
    assert comparison.fits([record([1.0, 1.0, 1.0])]) == []
    assert luck.of([record([1.0, 1.0, 1.0]), {"status": "timeout"}]) != []
