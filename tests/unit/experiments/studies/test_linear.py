"""The linear kernel beside LinearSVC, in miniature."""

from __future__ import annotations

import pytest

from conftest import TOL
from widestreet._experiments.studies import linear


def cells(table: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()[2:]]


def test_objectives_are_compared(monkeypatch):
    monkeypatch.setattr(linear, "ROWS", 500)
    monkeypatch.setattr(linear, "COLUMNS", 3)
    monkeypatch.setattr(linear, "SWEEPS", (10_000,))
    monkeypatch.setattr(linear, "limited", lambda seconds, function, *given: function(*given))
    us, them = cells(linear.equal_objective(1))
    assert us[5].startswith("optimal")
    assert them[0] == "LinearSVC"
    assert float(them[3]) == pytest.approx(float(us[3]), rel=TOL.certified_gap_rel)


def test_a_fit_that_takes_too_long_ends_the_table(monkeypatch):
    monkeypatch.setattr(linear, "ROWS", 100)
    monkeypatch.setattr(linear, "COLUMNS", 2)
    monkeypatch.setattr(linear, "limited", lambda *given: None)
    lines = cells(linear.equal_objective(1))
    assert len(lines) == 2
    assert lines[1][5] == "killed after 60 s"
