"""Fits that do not end elsewhere, in miniature."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from widestreet._experiments.studies import hard
from widestreet._experiments.studies.hard_problems import REPORTED, Case


def cells(table: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()[2:]]


def test_both_libraries_stand_beside_each_other(monkeypatch):
    monkeypatch.setattr(hard, "REPORTED", {"#4648": REPORTED["#4648"]})
    monkeypatch.setattr(hard, "limited", lambda seconds, function, name: None)
    ((name, machine, size, _, status, *_, other, rows),) = cells(hard.reported(1))
    assert (name, machine, size, status) == ("#4648", "SVC", "2 x 2", "optimal")
    assert other == "killed after 30 s"
    assert rows == REPORTED["#4648"].text


def test_what_the_other_library_finds_is_certified(monkeypatch):
    easy = Case(lambda: (np.array([[0.0], [1.0]]), np.array([0, 1])), "SVC", {"kernel": "linear"})
    wrong = replace(easy, parameters={"C": -1.0})
    monkeypatch.setattr(hard, "CASES", {"easy": easy, "wrong": wrong})
    assert "s, violation 0.0e+00, gap" in hard.theirs("easy")
    assert "s, ValueError: " in hard.theirs("wrong")


def test_constructed_cases_have_their_limits(monkeypatch):
    monkeypatch.setattr(hard, "CONSTRUCTED", {"two": REPORTED["#4648"]})
    ((name, _, _, _, status, *_, limit),) = cells(hard.constructed(1))
    assert (name, status, limit) == ("two", "optimal", "30")
