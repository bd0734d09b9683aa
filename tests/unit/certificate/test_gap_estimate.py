"""Estimates of the gap from some of the rows."""

from __future__ import annotations

import numpy as np
import pytest

from conftest import TOL
from widestreet._src.certificate import Stratum, estimate

pytestmark = pytest.mark.numeric


def test_all_rows_leave_nothing_to_chance(rng):
    terms = rng.random(50)
    found = estimate([Stratum(50, terms)], 10.0, 7.0)
    relative = terms.sum() / (10.0 + terms.sum())
    assert found.relative_gap == pytest.approx(relative, rel=TOL.twin)
    assert found.interval == (found.relative_gap, found.relative_gap)
    assert (found.n_rows, found.pass_seconds) == (50, 7.0)


def test_intervals_contain_the_gap_as_often_as_they_say(rng):
    """400 samples of two strata; the normal approximation is close for these terms."""
    strata = [rng.random(3000) + 1.0, rng.random(20_000) ** 4]
    gap = sum(terms.sum() for terms in strata)
    exact, inside = gap / (1000.0 + gap), 0
    for _ in range(400):
        drawn = [Stratum(len(terms), rng.choice(terms, 200, replace=False)) for terms in strata]
        low, high = estimate(drawn, 1000.0, 0.0).interval
        inside += low <= exact <= high
    assert 0.9 <= inside / 400 <= 0.99


@pytest.mark.parametrize("dual", [-1.0, -30.0, 0.0, 5.0])
def test_intervals_contain_the_estimate_for_objectives_of_any_sign(dual, rng):
    found = estimate([Stratum(100, rng.random(20))], dual, 0.0)
    low, high = found.interval
    assert 0 <= low <= found.relative_gap <= high <= 2


def test_a_relative_gap_is_two_where_the_objectives_are_opposite():
    found = estimate([Stratum(100, np.linspace(0.0, 0.4, 20))], -10.0, 0.0)
    assert found.interval[1] == 2.0


def test_no_estimate_without_an_objective():
    assert estimate([Stratum(10, np.ones(5))], -np.inf, 0.0) is None
    assert estimate([Stratum(10, np.array([np.nan]))], 1.0, 0.0) is None


def test_an_empty_stratum_has_no_gap():
    found = estimate([Stratum(0, np.empty(0)), Stratum(10, np.zeros(5))], 0.0, 0.0)
    assert found.relative_gap == 0.0
    assert found.interval == (0.0, 0.0)


def test_a_sample_without_a_gap_does_not_exclude_other_rows():
    found = estimate([Stratum(1000, np.zeros(30), largest=0.5)], 100.0, 0.0)
    assert found.relative_gap == found.interval[0] == 0.0
    gap = 3.0 * (1000 / 30 - 1.0) * 0.5
    assert found.interval[1] == pytest.approx(gap / (100.0 + gap), rel=TOL.twin)


def test_all_rows_without_a_gap_leave_none():
    assert estimate([Stratum(30, np.zeros(30), largest=0.5)], 1.0, 0.0).interval == (0.0, 0.0)
