"""Gap and violation over time, and where the time went."""

from __future__ import annotations

from dataclasses import replace

import pytest

import widestreet as ws
from conftest import OF_THREE
from support.machines import data
from support.pages import Page
from widestreet._src.engines.solution import Trace
from widestreet._src.model_report.convergence import section, time_section, timings
from widestreet._src.model_report.subject import Subject
from widestreet.online import OnlineSVC


@pytest.mark.parametrize("kind", ["svc", "svc" + OF_THREE])
def test_the_rounds_are_those_of_the_trace(kind):
    model = ws.SVC(C=100.0).fit(*data(kind))
    subject = Subject.of(model)
    page = Page.of(section(subject, subject.certificates).content)
    shown = {int(name.split(".")[1]) for name in page.numbers if name.startswith("trace.")}
    (problem,) = shown
    records = [record for record in model.trace_ if record.problem == problem]
    for record in records:
        start = f"trace.{problem}.{record.round}"
        assert page.numbers[f"{start}.violation"] == record.violation
        assert page.numbers[f"{start}.gap"] == record.gap
        assert page.numbers[f"{start}.n_sv"] == record.n_sv
    assert len([name for name in page.numbers if name.endswith(".gap")]) == len(records)


@pytest.mark.parametrize("rounds", [1, 3])
def test_a_single_round_has_no_picture(rounds):
    model = ws.SVC(C=100.0).fit(*data("svc"))
    model.trace_ = Trace([replace(model.trace_[-1], round=k) for k in range(rounds)])
    subject = Subject.of(model)
    content = str(section(subject, subject.certificates).content)
    assert ("<svg" in content) == (rounds > 1)
    assert ("The training took one round." in content) == (rounds == 1)
    assert f"trace.0.{rounds - 1}.violation" in Page.of(section(subject, []).content).numbers


def test_the_parts_are_those_of_the_timings():
    model = ws.SVC(C=100.0).fit(*data("svc"))
    page = Page.of(time_section(Subject.of(model)).content)
    parts = timings(list(model.trace_))
    for part, spent in parts.items():
        assert page.numbers[f"time.{part}"] == spent
    solve = sum(record.timings.get("solve", 0.0) for record in model.trace_)
    assert parts["solve"] == pytest.approx(solve)
    assert page.numbers["time.total"] == pytest.approx(sum(parts.values()))
    assert page.numbers["n_kernel_values"] == model.n_kernel_values_


def test_models_without_a_trace_say_so():
    subject = Subject.of(OnlineSVC().fit(*data("svc", 30)))
    assert "has no trace" in Page.of(section(subject, []).content).text
    assert "has no trace" in Page.of(time_section(subject).content).text
