"""The record of a fit, and the record as a table."""

from __future__ import annotations

import dataclasses
import sys

import numpy as np
import pytest

from support.trace_records import record
from widestreet._src.engines.solution import Solution, Trace, TraceRecord
from widestreet._src.shards.point import Point


def test_records_do_not_change():
    with pytest.raises(dataclasses.FrozenInstanceError):
        record().round = 3


def test_a_trace_is_a_list():
    trace = Trace([record(round=1)])
    trace.append(record(round=2))
    assert isinstance(trace, list)
    assert [r.round for r in trace] == [1, 2]


def test_a_trace_is_not_printed_at_length():
    assert (
        repr(Trace([record(), record()])) == "<Trace of 2 records: to_frame() returns a DataFrame>"
    )


def test_to_frame():
    trace = Trace([record(round=1, timings={"solve": 2.0}), record(round=2)])
    frame = trace.to_frame()
    hidden = ("timings", "notes", "phase")
    names = [f.name for f in dataclasses.fields(TraceRecord) if f.name not in hidden]
    assert list(frame.columns[: len(names)]) == names
    assert set(frame.columns[len(names) :]) == {"seconds_solve", "seconds_survey"}
    assert frame["round"].tolist() == [1, 2]
    assert frame["n_sv"].tolist() == [2697, 2697]
    assert frame["seconds_solve"].tolist() == [2.0, 1.5]
    assert np.isnan(frame["seconds_survey"][0])  # no survey in the first round
    assert frame["seconds_survey"][1] == 0.5


def test_notes_become_columns():
    frame = Trace([record(notes={"stage": 1}), record(notes={"stage": 2, "ended": "k"})]).to_frame()
    assert frame["stage"].tolist() == [1, 2]
    assert frame["ended"][1] == "k"
    assert "notes" not in frame.columns


def test_to_frame_of_nothing():
    assert len(Trace().to_frame()) == 0


def test_records_are_not_changed_by_the_table():
    one = record()
    Trace([one]).to_frame()
    assert one == record()


def test_pandas_is_needed_for_the_table_only(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    trace = Trace([record()])
    with pytest.raises(ImportError, match=r"pandas: pip install .widestreet\[cli\]"):
        trace.to_frame()


def test_a_solution_is_compared_by_identity():
    point, bias = Point(np.array([1]), np.ones((1, 1))), np.zeros(1)
    one, other = (Solution(point, 3, bias, 0.0, "optimal", Trace(), 0, 0) for _ in range(2))
    assert one != other
    assert one.beta.tolist() == [[0.0, 1.0, 0.0]]
    assert one.status == "optimal"


def test_an_empty_trace_has_the_columns_of_a_record():
    pytest.importorskip("pandas")
    assert list(Trace().to_frame().columns) == list(
        Trace([record(timings={}, notes={})]).to_frame().columns
    )


def test_seconds_are_added_to_the_last_record():
    trace = Trace([record(round=1), record(round=2, timings={"solve": 2.0})])
    trace.add({"solve": 1.0, "certificate": 3.0})
    assert trace[0] == record(round=1)
    assert trace[1].timings == {"solve": 3.0, "certificate": 3.0}
