"""Rows of the largest influence."""

from __future__ import annotations

import numpy as np
import pytest

import widestreet as ws
from support.machines import data, machine
from support.pages import Page
from widestreet._src.model_report.decisions import support_vectors
from widestreet._src.model_report.held_out import HeldOut, leave_one_out
from widestreet._src.model_report.influence import section
from widestreet._src.model_report.sample import Sample
from widestreet._src.model_report.subject import Subject
from widestreet.online import OnlineSVC

NOTHING = HeldOut(None, "not asked for")


@pytest.mark.parametrize("kind", ["svc", "svr", "one_class"])
def test_the_change_is_that_of_leave_one_out(kind):
    X, y = data(kind, 50)
    model = machine(kind).fit(X, y)
    subject = Subject.of(model)
    train = Sample.of(subject, "", X, y)
    found = leave_one_out(subject, train, 1e6)
    page = Page.of(section(subject, train, None, found).content)
    changes = found.values[:, 0] - train.values[:, 0]
    largest = np.sort(np.abs(changes))[::-1]
    for rank in range(10):
        row = page.numbers[f"influence.{rank}.row"]
        sign = y[row] if kind == "svc" else 1.0
        assert page.numbers[f"influence.{rank}.change"] == pytest.approx(sign * changes[row])
        assert abs(changes[row]) == pytest.approx(largest[rank])


def test_without_leave_one_out_the_worst_rows_are_listed():
    X, y = data("svc", 50)
    model = ws.SVC(C=0.1).fit(X, y)
    subject = Subject.of(model)
    page = Page.of(section(subject, Sample.of(subject, "", X, y), None, NOTHING).content)
    own = np.sort(model.decision_function(X) * y)
    listed = [page.numbers[f"influence.{rank}.value"] for rank in range(10)]
    assert listed == pytest.approx(own[:10].tolist())
    page = Page.of(section(subject, None, support_vectors(subject), NOTHING).content)
    assert page.numbers["influence.0.row"] in model.support_


def test_rows_of_a_frame_have_their_index_labels():
    pandas = pytest.importorskip("pandas")
    X, y = data("svc", 50)
    frame = pandas.DataFrame(X, index=[f"<{i}>" for i in range(100, 150)])
    frame.columns = ["a", "b", "c"]
    weight = np.arange(50) % 5 / 2.0
    subject = Subject.of(ws.SVC().fit(frame, y, weight))
    train = Sample.of(subject, "", frame, y, weight)
    for found in (NOTHING, leave_one_out(subject, train, 1e6)):
        page = Page.of(section(subject, train, None, found).content)
        assert "Index label" in page.text
        for rank in range(10):
            assert frame.index[page.numbers[f"influence.{rank}.row"]] in page.text
    subject = Subject.of(ws.SVC().fit(X, y))
    train = Sample.of(subject, "", X, y)
    page = Page.of(section(subject, train, None, NOTHING).content)
    assert "Position of the row" in page.text


def test_ids_of_an_online_estimator():
    subject = Subject.of(OnlineSVC().fit(*data("svc", 50)).forget([0]))
    page = Page.of(section(subject, Sample.stored(subject), None, NOTHING).content)
    assert "Id of the row" in page.text


def test_nothing_is_known_of_a_regressor_alone():
    subject = Subject.of(ws.SVR().fit(*data("svr")))
    assert "not known" in Page.of(section(subject, None, None, NOTHING).content).text
