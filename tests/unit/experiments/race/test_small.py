"""Small data."""

from __future__ import annotations

from threadpoolctl import threadpool_limits

from widestreet._experiments.harness.measure import measure
from widestreet._experiments.race import small
from widestreet._experiments.race.comparison import TARGET


def test_small_data(monkeypatch):
    first = list(small.problems())[:2]
    monkeypatch.setattr(small, "problems", lambda: iter(first))
    one = small.measurement("widestreet", 1)
    with threadpool_limits(1):
        (found,) = measure(small.EXPERIMENT, [one])
    assert found["sizes"] == [100, small.SIZES[1]]
    assert max(found["violations"]) <= TARGET
    assert small.ratio(found, found) == 1
    (absent,) = measure(small.EXPERIMENT, [small.measurement("liquidSVM", 1)])
    assert absent["status"] == "absent"


def test_small_problems():
    assert len(list(small.problems())) == 50
    assert (min(small.SIZES), max(small.SIZES)) == (100, 2000)


def test_imports_are_timed(monkeypatch):
    monkeypatch.setattr(small, "MODULES", ("json",))
    found = small.imports(1, 3)
    assert len(found["all_imports"]["json"]) == 3
    assert found["imports"]["json"] in found["all_imports"]["json"]
