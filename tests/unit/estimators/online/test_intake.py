"""What enters an online machine: rows, the kernel that they keep, and ids."""

from __future__ import annotations

import numpy as np
import pytest

from support.machines import data
from support.online_machines import machine
from widestreet.datasets import twonorm
from widestreet.online import OnlineSVC, OnlineSVR


@pytest.mark.parametrize("call", ["forget", "change_weight"])
@pytest.mark.parametrize(
    ("ids", "match"),
    [
        (30, "no row 30"),
        (-1, "no row -1"),
        ([3, 99, 4], "no row 99"),
        (range(25, 40), r"no row 30, 31, 32, 33, 34, \.\.\."),
        (1.5, "integer"),
        ("first", "integer"),
        ([True, False], "integer .* got a mask: .*numpy.flatnonzero"),
        (np.linspace(0.0, 1.0, 30), r"integer .* got array\(.*\.\.\..*\)$"),
        ([[1, 2], [3, 4]], "integer"),
    ],
)
def test_unknown_ids_are_refused(call, ids, match):
    X, y = data("svc", 30)
    model = machine("svc").fit(X, y)
    arguments = (ids,) if call == "forget" else (ids, 1.0)
    with pytest.raises(ValueError, match=match):
        getattr(model, call)(*arguments)
    assert model.n_rows_ == 30


def test_what_is_forgotten_is_not_there():
    X, y = data("svc", 30)
    model = machine("svc").fit(X, y).forget([4, 4])
    with pytest.raises(ValueError, match="no row 4"):
        model.forget(4)
    assert model.forget([]).forget(np.zeros(0)).n_rows_ == 29


def test_a_row_has_one_weight():
    X, y = data("svc", 30)
    model = machine("svc").fit(X, y)
    with pytest.raises(ValueError, match="appear only once"):
        model.change_weight([1, 2, 1], [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="shape"):
        model.change_weight([1, 2], [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="negative"):
        model.change_weight([1, 2], -1.0)


@pytest.fixture
def rows():
    X, y = twonorm(60, random_state=0)
    return X, np.where(y > 0, 2, 1)


def test_the_kernel_changes_by_fit_only(rows):
    X, y = rows
    one = OnlineSVC(gamma=0.05).fit(X, y).set_params(gamma=3.0)
    for change in (lambda: one.partial_fit(X[:1], y[:1]), lambda: one.forget(0)):
        with pytest.raises(ValueError, match=r"set gamma back to 0\.05, or call fit"):
            change()
    assert one.n_rows_ == 60
    assert one.fit(X, y)._gamma == 3.0


def kernel_of_ones(A, B):
    return np.ones((len(A), len(B)))


@pytest.mark.parametrize(
    ("begun", "changed", "back"),
    [
        ({"gamma": 0.1}, {"gamma": 0.2}, {"gamma": 0.1}),
        ({"gamma": 0.1}, {"kernel": "laplacian"}, {"kernel": "rbf"}),
        (
            {"gamma": 0.1},
            {"kernel": "linear", "gamma": 0.2},
            {"kernel": "rbf", "gamma": 0.1},
        ),
        ({"kernel": "linear"}, {"kernel": "rbf", "gamma": 1.0}, {"kernel": "linear"}),
        (
            {"kernel": "poly", "gamma": 0.1},
            {"degree": 2, "coef0": 1.0},
            {"degree": 3, "coef0": 0.0},
        ),
        ({"kernel": kernel_of_ones}, {"kernel": "linear"}, {"kernel": kernel_of_ones}),
        ({"gamma": 0.1}, {"kernel": kernel_of_ones}, {"kernel": "rbf"}),
    ],
)
def test_a_refused_kernel_says_what_to_set_back(begun, changed, back, rows):
    X, y = rows
    one = OnlineSVC(**begun).fit(X, y).set_params(**changed)
    with pytest.raises(ValueError, match="or call fit") as caught:
        one.forget(0)
    for name, value in back.items():
        assert f"{name} back to {value!r}" in str(caught.value)
    assert one.set_params(**back).forget(0).n_rows_ == 59


@pytest.mark.parametrize("machine", [OnlineSVC, OnlineSVR])
@pytest.mark.parametrize("call", ["fit", "partial_fit"])
def test_gamma_from_a_row_or_two_is_doubted(machine, call, rows):
    X, y = rows
    few = np.unique(y, return_index=True)[1][:2]
    with pytest.warns(UserWarning, match="gamma='scale'") as caught:
        getattr(machine(), call)(X[few], y[few])
    assert [warning.filename for warning in caught] == [__file__]


def test_a_kernel_that_is_an_array_is_refused_by_name():
    X, y = data("svc", 30)
    with pytest.raises(ValueError, match="kernel must be one of"):
        machine("svc", kernel=np.array([1.0, 2.0])).fit(X, y)
