"""Ratios of times at an equal violation, in miniature."""

from __future__ import annotations

from dataclasses import replace

import pytest

from widestreet import _core
from widestreet._experiments.studies import ratios
from widestreet._experiments.studies.ratios import Fits, Goal

SMALL = Goal("twonorm", 7.0, rows=300)


@pytest.fixture
def in_this_process(monkeypatch):
    """Call fits here, and force the instruction set of before when they are over."""
    before = _core.instruction_set()
    monkeypatch.setattr(ratios, "limited", lambda seconds, function, *given: function(*given))
    yield
    _core.force_instruction_set(before)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_both_violations_are_certified(in_this_process, monkeypatch, dtype):
    monkeypatch.setattr(ratios, "THEIRS", "scikit-learn")
    [cells] = ratios.lines(SMALL, dtype, 1)
    assert cells[:2] == ["twonorm", "300"]
    assert float(cells[3].split()[0]) <= ratios.TARGET
    ours = cells[4:-1]
    assert len(ours) == 3 * len(ratios.instruction_sets())
    for seconds, violation, ratio in zip(ours[::3], ours[1::3], ours[2::3], strict=True):
        assert float(seconds) > 0
        assert float(violation) <= ratios.TARGET
        assert float(ratio) > 0
    assert cells[-1] == "7"


def violations(monkeypatch, values):
    found = iter(values)
    monkeypatch.setattr(ratios, "verdict", lambda *given: {"violation": next(found)})
    return ratios.fits("scikit-learn", SMALL, "float64", _core.instruction_set(), 1, 1)


def test_the_tolerance_falls_until_the_violation_counts(in_this_process, monkeypatch):
    fits = violations(monkeypatch, [3e-3, 1.06e-3, 1.04e-3])
    assert (fits.tol, fits.violation, fits.counts) == (ratios.TARGET / 4, 1.04e-3, True)
    assert "(tol 0.00025)" in ratios.described(fits)[1]


def test_the_first_tolerance_is_kept_if_no_violation_counts(in_this_process, monkeypatch):
    fits = violations(monkeypatch, [3e-3, 2.5e-3])  # the third is not tried
    assert (fits.tol, fits.violation, fits.counts) == (ratios.TARGET, 3e-3, False)


def test_a_ratio_at_a_larger_violation_is_a_bound():
    exact, coarse = Fits(1.0, 5e-4, 10, 1e-3), Fits(9.0, 2e-3, 10, 1e-3)
    assert ratios.ratio(exact, coarse) == "over 9.0"
    assert ratios.ratio(exact, replace(coarse, violation=1e-3)) == "9.0"
    assert ratios.ratio(coarse, exact) == ""


def test_a_larger_violation_has_a_second_line(in_this_process, monkeypatch):
    def fits(library, goal, dtype, instruction_set, threads, seeds, target=ratios.TARGET):
        coarse = library == ratios.THEIRS
        return Fits(6.0 if coarse else 2.0, 5.43e-3 if coarse else target, 10, target, target)

    monkeypatch.setattr(ratios, "fits", fits)
    one, other = ratios.lines(SMALL, "float64", 1)
    assert (one[0], other[0]) == ("twonorm", "twonorm, at 5.4e-03")
    assert (one[5], other[5]) == ("1.0e-03", "5.4e-03")
    assert (one[6], other[6]) == ("over 3.0", "3.0")


def test_a_fit_that_takes_too_long_is_named(monkeypatch):
    monkeypatch.setattr(ratios, "limited", lambda *given: None)
    [cells] = ratios.lines(SMALL, "float64", 1)
    assert cells[2] == "killed after 600 s"


def test_the_table_has_a_line_for_every_problem_at_hand(monkeypatch):
    monkeypatch.setattr(ratios, "GOALS", (SMALL,))
    monkeypatch.setattr(ratios, "limited", lambda *given: Fits(2.0, 5e-4, 10, 1e-3))
    table = ratios.table("float32", 1).splitlines()
    assert len(table) == 3
    assert len(table[0].split("|")) == len(table[2].split("|"))
