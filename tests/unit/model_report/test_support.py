"""Free and bound support vectors."""

from __future__ import annotations

import numpy as np
import pytest

import widestreet as ws
from conftest import OF_THREE
from support.machines import CLASSIFIERS, MACHINES, data, machine
from support.pages import Page
from widestreet._src.model_report.sample import Sample
from widestreet._src.model_report.subject import Subject
from widestreet._src.model_report.support import Support, section
from widestreet.online import OnlineSVC


def page_of(subject, train=None):
    return Page.of(section(subject, Support.of(subject, train), train).content)


@pytest.mark.parametrize("kind", [*MACHINES, "svc" + OF_THREE, "nu_svc" + OF_THREE])
def test_the_numbers_add_up(kind):
    X, y = data(kind)
    model = machine(kind).fit(X, y)
    page = page_of(Subject.of(model))
    assert page.numbers["support.total"] == len(model.support_)
    groups = len(model.n_support_) if kind in CLASSIFIERS else 2 if kind.endswith("svr") else 1
    for k in range(groups):
        whole = page.numbers[f"support.{k}.all"]
        assert page.numbers[f"support.{k}.free"] + page.numbers[f"support.{k}.bound"] == whole
        if kind in CLASSIFIERS:
            assert whole == model.n_support_[k]


def test_free_ones_are_on_the_margin_and_bound_ones_are_not_outside():
    X, y = data("svc")
    model = machine("svc", C=1.0).fit(X, y)
    support = Support.of(Subject.of(model), None)
    own = model.decision_function(X[model.support_]) * y[model.support_]
    assert np.abs(own[~support.bound] - 1.0).max() <= 2 * model.tol
    assert own[support.bound].max() <= 1.0 + model.tol
    assert 0 < support.bound.sum() < len(support.bound)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("kind", "where"), [("svc", "on the margin"), ("svr", "on the edge")])
def test_what_holds_at_the_optimum_is_said_of_optimal_models_only(kind, where):
    X, y = data(kind)
    for limit, status in ((-1, "optimal"), (1, "iteration_limit")):
        model = machine(kind, max_iter=limit).fit(X, y)
        assert model.certificate_.status == status
        text = page_of(Subject.of(model)).text
        assert ("could be left out" in text) == (status == "optimal")
        assert (where in text) == (status == "optimal")
        assert ("not proved to be optimal" in text) == (status != "optimal")


def test_weights_are_those_of_the_training_rows():
    X, y = data("svc")
    weight = 1.0 + np.arange(len(y)) % 3
    model = machine("svc", C=0.1).fit(X, y, weight)
    subject = Subject.of(model)
    support = Support.of(subject, Sample.of(subject, "", X, y, weight))
    box = 0.1 * weight[model.support_]
    np.testing.assert_array_equal(support.bound, np.abs(model.dual_coef_[0]) >= box * (1 - 1e-9))


def test_an_online_estimator_knows_its_weights():
    X, y = data("svc")
    weight = 1.0 + np.arange(len(y)) % 3
    model = OnlineSVC(C=0.1, gamma=0.5).fit(X, y, weight).forget([0, 7])
    subject = Subject.of(model)
    support = Support.of(subject, Sample.stored(subject))
    box = 0.1 * weight[model.ids_[model.support_]]
    np.testing.assert_array_equal(support.bound, np.abs(model.dual_coef_[0]) >= box * (1 - 1e-9))


@pytest.mark.parametrize("model", [ws.SVC(loss="squared_hinge"), ws.EnsembleSVC()])
def test_coefficients_without_a_bound(model):
    page = page_of(Subject.of(model.fit(*data("svc"))))
    assert "support.0.all" in page.numbers
    assert "support.0.bound" not in page.numbers
