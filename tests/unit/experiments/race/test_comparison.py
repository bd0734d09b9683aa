"""The comparison: which runs count, and what follows from them."""

from __future__ import annotations

import pytest

from support.experiments import race_answer
from widestreet._experiments.race import comparison
from widestreet._experiments.race.comparison import fastest, reached


def test_the_fastest_run_that_is_good_enough_counts():
    runs = [
        race_answer(tol=1e-2, seconds=1.0, violation=9e-3),
        race_answer(tol=1e-3, seconds=3.0, violation=9e-4),
        race_answer(tol=1e-4, seconds=2.0, violation=9e-5),
        race_answer(tol=1e-5, seconds=0.5, violation=1e-5, infeasibility=1e-3),
        race_answer(tol=1e-6, seconds=0.1, status="timeout"),
    ]
    assert fastest(runs)["tol"] == 1e-4
    assert fastest(runs[:1]) is None
    assert fastest([]) is None


@pytest.mark.parametrize(("violation", "counts"), [(1.0004e-3, True), (1.1e-3, False)])
def test_the_violation_is_read_to_two_digits(violation, counts):
    assert reached(race_answer(violation=violation)) is counts


def test_outcomes():
    ours = comparison.judge([race_answer(seconds=2.0)])
    theirs = comparison.judge([race_answer(seconds=9.0), race_answer(violation=1e-2)])
    assert comparison.ratio(theirs, ours) == pytest.approx(4.5)
    never = comparison.judge([race_answer(violation=2e-2), race_answer(violation=1e-2, tol=1e-4)])
    assert comparison.ratio(never, ours) is None
    assert never.closest["tol"] == 1e-4
    late = comparison.judge([race_answer(status="timeout", limit=60.0)])
    assert comparison.at_least(late, ours) == pytest.approx(30)


def test_the_exponent_is_that_of_the_times():
    records = [race_answer(rows=n, seconds=1e-6 * n**1.7) for n in (100, 1000, 10_000)]
    points = comparison.growth(records, "twonorm", "widestreet", "seconds")
    assert comparison.exponent(points) == pytest.approx(1.7)
    assert comparison.exponent(points[:2]) is None
    assert comparison.growing(records) == ["twonorm"]
