"""The choice between leave-one-out and folds."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.model_selection import GroupKFold, KFold

import widestreet as ws
from support.machines import data, machine
from widestreet._src.calibration import removals
from widestreet._src.calibration.removals import (
    affordable,
    folds_of,
    is_number,
    number_of_folds,
    removable,
    require_cv,
)

SOME = {"svc": {}, "nu_svc": {}, "svr": {}, "nu_svr": {}, "svc of three": {}}


@pytest.fixture(scope="module")
def model():
    return machine("svc").fit(*data("svc"))


@pytest.mark.parametrize("cv", ["auto", "loo", 2, 10, KFold(3), [([0], [1])]], ids=str)
def test_valid_choices(cv):
    assert require_cv(cv) is cv
    assert is_number(cv) == (not isinstance(cv, KFold | list))


@pytest.mark.parametrize("cv", ["jackknife", 1, 0, 2.5, None, True, b"loo"], ids=str)
def test_invalid_choices_are_named(cv):
    with pytest.raises(ValueError, match=r"^cv must be"):
        require_cv(cv)


@pytest.mark.parametrize("kind", SOME)
def test_more_rows_or_removals_cost_more(kind, monkeypatch):
    """A small problem is affordable; with the limit at zero nothing is."""
    X, y = data(kind)
    model = machine(kind).fit(X, y)
    assert affordable(model, np.ones(len(X)))
    monkeypatch.setattr(removals, "AFFORDABLE", 0.0)
    assert not affordable(model, np.ones(len(X)))


def test_rows_without_coefficients_cost_nothing(model, monkeypatch):
    """The limit is between the cost of the support vectors and that of all rows."""
    many = 1000 * len(model.support_) * removals.COST_OF_REMOVAL
    monkeypatch.setattr(removals, "COST_OF_REMOVAL", 1000 * removals.COST_OF_REMOVAL)
    monkeypatch.setattr(removals, "AFFORDABLE", 1.01 * many)
    assert affordable(model, np.ones(120))
    assert not affordable(machine("nu_svc").fit(*data("nu_svc")), np.ones(120))


@pytest.mark.parametrize(
    ("options", "possible"),
    [
        ({}, True),
        ({"kernel": "linear"}, True),
        ({"kernel": "sigmoid", "gamma": 0.05}, False),
        ({"kernel": lambda A, B: A @ B.T}, False),
        ({"loss": "squared_hinge"}, False),
    ],
    ids=str,
)
def test_what_a_homotopy_can_remove(options, possible):
    X, y = data("svc")
    model = ws.SVC(**{"gamma": 0.5} | options, n_jobs=1, random_state=0).fit(X, y)
    assert removable(model) == possible
    if possible:
        assert number_of_folds(model, np.ones(120), "auto", 50, "all") is None
    else:
        with pytest.raises(ValueError, match=r"cv='loo' is not possible.*pass cv=5"):
            number_of_folds(model, np.ones(120), "loo", 50, "all")
        assert number_of_folds(model, np.ones(120), "auto", 50, "all") == removals.FOLDS


def test_few_rows_of_a_class(model, monkeypatch):
    monkeypatch.setattr(removals, "AFFORDABLE", 0.0)
    assert number_of_folds(model, np.ones(120), "auto", 50, "A") == removals.FOLDS
    assert number_of_folds(model, np.ones(120), "auto", 3, "A") == 3
    assert number_of_folds(model, np.ones(120), "auto", 1, "A") is None  # all that is left
    assert number_of_folds(model, np.ones(120), 3, 3, "A") == 3
    with pytest.raises(ValueError, match=r"cv=4: 4 folds need .* rows of A, got 3: pass cv=3"):
        number_of_folds(model, np.ones(120), 4, 3, "A")


def test_folds_of_splitters_and_lists(rng):
    X, groups = rng.random((12, 2)), np.arange(12) % 4
    for cv in (KFold(3), list(GroupKFold(2).split(X, None, groups))):
        for train, test in folds_of(cv, X, X[:, 0]):
            assert sorted([*train, *test]) == list(range(12))
