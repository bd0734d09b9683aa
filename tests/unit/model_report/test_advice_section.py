"""Warnings, each with what to do."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import widestreet as ws
from support.machines import data
from support.pages import Page
from widestreet._src.model_report.advice_section import section
from widestreet._src.model_report.held_out import HeldOut, leave_one_out
from widestreet._src.model_report.sample import Sample
from widestreet._src.model_report.subject import Subject
from widestreet._src.model_report.support import Support
from widestreet._src.status import Status

NOTHING = HeldOut(None, "not asked for")


def text_of(model, X=None, y=None, certificates=None, held_out=False):
    subject = Subject.of(model)
    train = None if X is None else Sample.of(subject, "", X, y)
    found = leave_one_out(subject, train, 1e6) if held_out else NOTHING
    proofs = subject.certificates if certificates is None else certificates
    return Page.of(section(subject, proofs, Support.of(subject, train), train, found).content).text


def test_nothing_to_say():
    assert "Nothing was found" in text_of(ws.SVC(C=10.0).fit(*data("svc")))


def test_a_model_that_is_not_optimal():
    model = ws.SVC(C=10.0).fit(*data("svc"))
    proof = replace(model.certificate_, status=Status.TIME_LIMIT, kkt_violation=1.0)
    text = text_of(model, certificates=[proof])
    assert "not proved to be optimal" in text
    assert "raise max_time" in text


def test_no_gap_and_an_approximation():
    X, y = data("svc")
    model = ws.SVC(kernel="sigmoid", gamma=0.01).fit(X, y)
    assert "no duality gap" in text_of(model)
    assert "compact" in text_of(ws.SVC(C=10.0).fit(X, y).compact(0.5))


def test_columns_of_different_scales():
    X, y = data("svc")
    wide = X * np.array([1.0, 1.0, 1e6])
    with pytest.warns(UserWarning, match="scale the features"):
        model = ws.SVC(C=10.0).fit(wide, y)
    assert "StandardScaler" in text_of(model)


def test_a_kernel_that_is_too_narrow_and_a_small_c():
    X, y = data("svc")
    distinct = X + 1e-3 * np.arange(len(y))[:, None]
    assert "too narrow" in text_of(ws.SVC(gamma=1e4, C=100.0).fit(distinct, y))
    assert "raise C" in text_of(ws.SVC(C=1e-4).fit(X, y))


def test_few_rows_and_leave_one_out():
    y = data("svc", 40)[1]
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(40, 3))
    text = text_of(ws.SVC(gamma=3.0, C=1e3).fit(noise, y), noise, y, held_out=True)
    assert "Few training rows" in text
    assert "much better than rows that are left out" in text
