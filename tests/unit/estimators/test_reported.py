"""The method `report` is the same on all estimators."""

from __future__ import annotations

import inspect

import pytest

import widestreet as ws
from support.machines import data
from widestreet._src.estimators import reported

KINDS = (
    ws.SVC, ws.NuSVC, ws.SVR, ws.NuSVR, ws.OneClassSVM, ws.EnsembleSVC, ws.CalibratedSVC,
    ws.IntervalSVR, ws.SVCCV, ws.SVRCV, ws.online.OnlineSVC, ws.online.OnlineSVR,
    ws.model_selection.GridSearchCV,
)  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_all_have_it(kind):
    assert kind.report is reported.report


def test_it_takes_what_the_class_takes_and_returns_one():
    own = list(inspect.signature(reported.report).parameters)
    assert own[1:] == list(inspect.signature(ws.ModelReport).parameters)[1:]
    X, y = data("svc", 40)
    model = ws.SVC().fit(X, y)
    assert model.report(X, y).html() == ws.ModelReport(model, X, y).html()
