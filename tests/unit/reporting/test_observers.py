"""Observers of a fit: who is told of which record, and who may stop a problem."""

from __future__ import annotations

import logging
from contextlib import contextmanager

import pytest

from support.trace_records import record
from widestreet._src.engines.budget import OutOfBudget
from widestreet._src.reporting.observers import Observers


class Reporter:
    """Keeps what it is told; asks for an end after so many rounds."""

    def __init__(self, *, active: bool = True, most: int = 100) -> None:
        self.active, self.most = active, most
        self.told: list[str | int] = []

    @contextmanager
    def problem(self, name):
        self.told.append(f"begin {name}")
        yield
        self.told.append(f"end {name}")

    def __call__(self, one) -> bool:
        self.told.append(one.round)
        return one.round >= self.most


def test_a_reporter_is_told_where_a_problem_begins_and_ends():
    reporter = Reporter()
    with Observers(0, 1e-3, reporter, ["a", "b"]) as observers, observers.problem(1) as observe:
        observe(record(round=1))
        observe(record(round=2))
    assert reporter.told == ["begin b", 1, 2, "end b"]


def test_a_reporter_ends_a_problem_as_approximate():
    with Observers(0, 1e-3, Reporter(most=2)) as observers, observers.problem() as observe:
        observe(record(round=1))
        with pytest.raises(OutOfBudget) as stop:
            observe(record(round=2))
    assert stop.value.status == "approximate"


def test_records_carry_the_number_of_their_problem(caplog):
    caplog.set_level(logging.DEBUG, logger="widestreet")
    with Observers(0, 1e-3, Reporter(), ["a", "b", "c"]) as observers:
        with observers.problem(2) as observe:
            observe(record(problem=0))
        observers.tell(record(problem=1))
    assert [one.record.problem for one in caplog.records] == [2, 1]


@pytest.mark.parametrize("active", [True, False])
def test_problems_solved_beforehand_are_told_of_to_callbacks_only_if_there_are_any(active, caplog):
    caplog.set_level(logging.DEBUG, logger="widestreet")
    reporter = Reporter(active=active)
    with Observers(0, 1e-3, reporter, ["a"]) as observers:
        assert observers.in_order == active
        observers.tell(record(round=4))
    assert reporter.told == (["begin a", 4, "end a"] if active else [])
    assert len(caplog.records) == 1


def test_callbacks_are_not_told_of_the_last_examination(caplog):
    caplog.set_level(logging.DEBUG, logger="widestreet")
    reporter = Reporter(most=1)
    with Observers(0, 1e-3, reporter) as observers, observers.problem() as observe:
        observe(record(round=5, phase="certificate"))
    assert reporter.told == ["begin ", "end "]
    assert [one.record.phase for one in caplog.records] == ["certificate"]


def test_problems_that_are_solved_once_more_are_shown_only(caplog):
    caplog.set_level(logging.DEBUG, logger="widestreet")
    reporter = Reporter()
    with Observers(0, 1e-3, reporter, ["a", "b"]) as observers:
        observers.again(1)(record(round=5))
    assert reporter.told == []
    assert [one.record.problem for one in caplog.records] == [1]
