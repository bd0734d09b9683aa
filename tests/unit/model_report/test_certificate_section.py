"""The certificate in words and figures."""

from __future__ import annotations

from dataclasses import replace

import pytest

import widestreet as ws
from conftest import OF_THREE
from support.machines import data
from support.pages import Page
from widestreet._src.certificate import Certificate
from widestreet._src.model_report.certificate_section import section
from widestreet._src.model_report.subject import Subject
from widestreet._src.status import Status


def page_of(model, certificates=None):
    subject = Subject.of(model)
    found = subject.certificates if certificates is None else certificates
    return Page.of(section(subject, found).content)


@pytest.fixture
def model():
    return ws.SVC().fit(*data("svc"))


def test_the_figures_are_those_of_the_certificate(model):
    page, proved = page_of(model), model.certificate_
    names = ("gap", "relative_gap", "kkt_violation", "tol", "gap_tol", "rounding", "gap_rounding",
             "primal_objective", "dual_objective", "infeasibility", "n_rows")  # fmt: skip
    assert page.numbers == {f"certificate.{name}": getattr(proved, name) for name in names}
    assert "This is proved." in page.text
    assert page.named("strong")[0]["data-status"] == "optimal"


def test_every_pair_of_classes_has_a_line():
    model = ws.SVC().fit(*data("svc" + OF_THREE))
    page = page_of(model)
    for p, one in enumerate(model.certificates_):
        assert page.numbers[f"certificates.{p}.kkt_violation"] == one.kkt_violation
    assert "1 against 2" in page.text
    assert "worst pair" in page.text


@pytest.mark.parametrize("status", [status for status in Status if not status.success])
def test_what_is_not_optimal(model, status):
    page = page_of(model, [replace(model.certificate_, status=status)])
    assert page.named("strong")[0]["class"] == "badge poor"
    assert "This is proved." not in page.text


def test_no_examination_and_no_gap(model):
    unseen = Certificate.unexamined(Status.INTERRUPTED, 1.0, 1e-3)
    assert "nothing is known about the quality" in page_of(model, [unseen]).text
    nan = replace(model.certificate_, gap=float("nan"), relative_gap=float("nan"))
    assert "There is no duality gap" in page_of(model, [nan]).text
    doubtful = replace(model.certificate_, rounding=float("inf"))
    assert "disagree" in page_of(model, [doubtful]).text


def test_models_that_are_not_meant_to_be_optimal(model):
    assert "An ensemble is not meant to" in page_of(ws.EnsembleSVC().fit(*data("svc"))).text
    assert "made smaller by compact" in page_of(model.compact(0.5)).text


def test_a_model_without_a_certificate(model):
    assert "has no certificate" in page_of(model, []).text
