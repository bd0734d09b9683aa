"""The choice between leave-one-out and folds."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.model_selection import GroupKFold, KFold

import widestreet as ws
from support.machines import data, machine
from widestreet._src.calibration import removals
from widestreet._src.calibration.removals import (
    cost_of_removals,
    folds_of,
    is_number,
    number_of_folds,
    removable,
    require_cv,
)


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


@pytest.mark.parametrize("kind", ["svc", "nu_svc", "svr", "nu_svr", "svc of three"])
def test_removals_cost_what_they_are(kind):
    """The support vectors of each problem, or all rows where the sums depend on their number."""
    X, y = data(kind)
    model = machine(kind).fit(X, y)
    removals_of = np.count_nonzero(model.dual_coef_)
    if kind.startswith("nu"):
        removals_of = len(X)
    cost, n = cost_of_removals(model, np.ones(len(X))), len(X)
    least = removals.COST_OF_REMOVAL + removals.STEPS * n
    assert removals_of * least <= cost <= removals_of * (least + removals.STEPS * n * n)


@pytest.mark.parametrize(
    ("options", "possible"),
    [
        ({}, True),
        ({"kernel": "linear"}, True),
        ({"kernel": "sigmoid", "gamma": 0.05}, False),
        ({"kernel": lambda A, B: A @ B.T}, False),
        ({"loss": "squared_hinge"}, False),
    ],
    ids=["rbf", "linear", "sigmoid", "function", "squared hinge"],
)
def test_what_a_homotopy_can_remove(options, possible):
    X, y = data("svc")
    model = ws.SVC(**{"gamma": 0.5} | options, n_jobs=1, random_state=0).fit(X, y)
    assert removable(model) == possible
    if possible:
        assert number_of_folds("intervals", model, np.ones(120), "auto", 50, "all") is None
    else:
        with pytest.raises(ValueError, match=r"cv='loo' is not possible.*pass cv=5"):
            number_of_folds("intervals", model, np.ones(120), "loo", 50, "all")
        assert (
            number_of_folds("intervals", model, np.ones(120), "auto", 50, "all") == removals.FOLDS
        )


def test_few_rows_of_a_class(model, monkeypatch):
    monkeypatch.setitem(removals.AFFORDABLE, "intervals", 0.0)
    assert number_of_folds("intervals", model, np.ones(120), "auto", 50, "A") == removals.FOLDS
    assert number_of_folds("intervals", model, np.ones(120), "auto", 3, "A") == 3
    assert (
        number_of_folds("intervals", model, np.ones(120), "auto", 1, "A") is None
    )  # all that is left
    assert number_of_folds("intervals", model, np.ones(120), 3, 3, "A") == 3
    with pytest.raises(ValueError, match=r"cv=4: 4 folds need .* rows of A, got 3: pass cv=3"):
        number_of_folds("intervals", model, np.ones(120), 4, 3, "A")


def test_folds_of_splitters_and_lists(rng):
    X, groups = rng.random((12, 2)), np.arange(12) % 4
    for cv in (KFold(3), list(GroupKFold(2).split(X, None, groups))):
        for train, test in folds_of(cv, X, X[:, 0]):
            assert sorted([*train, *test]) == list(range(12))


def test_masks_are_folds(rng):
    X, first = rng.random((6, 2)), np.arange(6) < 2
    folds = folds_of([(~first, first), ([0, 1, 2], [-1, -2])], X, None)
    for found, wanted in zip(folds, [([2, 3, 4, 5], [0, 1]), ([0, 1, 2], [5, 4])], strict=True):
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("cv", "message"),
    [
        ([], r"^cv=.* has no folds: pass pairs"),
        ([([0, 1, 2], [3, 4]), ([0, 1], [1, 2])], r"^cv: 1 rows of fold 1, such as row 1, are in"),
        ([([0, 1, 2], [-6])], r"^cv: 1 rows of fold 0, such as row 0, are in"),
        ([(np.ones(5, dtype=bool), [5])], r"^cv: the sets .* below 6 .* of shape \(5,\)"),
        ([([0.0, 1.0], [2])], r"^cv: the sets of a fold .* type float64"),
        ([([0, 1], [6])], r"^cv: the sets of a fold must be row numbers below 6"),
        ([([[0], [1]], [2])], r"^cv: the sets of a fold .* of shape \(2, 1\)"),
    ],
    ids=["none", "overlap", "overlap from the end", "short mask", "floats", "too large", "column"],
)
def test_folds_that_are_none_are_named(cv, message, rng):
    with pytest.raises(ValueError, match=message):
        folds_of(cv, rng.random((6, 2)), None)
