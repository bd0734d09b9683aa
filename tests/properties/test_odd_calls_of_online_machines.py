"""What an online machine is after calls that are odd, wrong or broken off."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV

from widestreet import NuSVC, regularization_path
from widestreet.datasets import friedman, twonorm
from widestreet.online import OnlineNuSVC, OnlineNuSVR, OnlineOneClassSVM, OnlineSVC, OnlineSVR


@pytest.fixture
def rows():
    X, y = twonorm(60, random_state=0)
    return X, np.where(y > 0, 2, 1)


def test_totals_that_differ_by_rounding_are_no_way_to_go():
    """All rows at their bounds, boxes of 1e8: a total has no digits left to be exact in."""
    rng = np.random.default_rng(3)
    for _ in range(39):
        X = np.round(rng.normal(size=(40, 2)), 1)
        X[20:] = X[:20]
        y = np.round(np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=40), 1)
    model = OnlineNuSVR(nu=1.0, C=1e8, kernel="linear", n_jobs=1).fit(X, y)
    assert model.n_iter_ < 100


def test_classes_that_are_named_later_do_not_rename_the_rows(rows):
    X, y = rows
    one = OnlineSVC(gamma=0.05).fit(X, y)
    before = one.predict(X)
    one.partial_fit(X[:1], y[:1], classes=[0, 1, 2, 7])
    assert one.classes_.tolist() == [0, 1, 2, 7]
    assert (one.predict(X) == before).mean() > 0.95
    assert set(one.predict(X)) <= {1, 2}


def test_another_weight_of_a_class_counts_for_all_rows(rows):
    X, y = rows
    one = OnlineSVC(gamma=0.05).fit(X[:50], y[:50])
    one.set_params(class_weight={1: 10.0, 2: 1.0}).partial_fit(X[50:], y[50:])
    refit = OnlineSVC(gamma=0.05, class_weight={1: 10.0, 2: 1.0}).fit(X, y)
    np.testing.assert_allclose(one.decision_function(X), refit.decision_function(X), atol=1e-9)


@pytest.mark.parametrize("C", [1.0, 1e5])
def test_rows_are_forgotten_exactly_when_their_coefficients_are_tiny(C):
    rng = np.random.default_rng(0)
    X, y = 30 * rng.normal(size=(10, 3)), rng.normal(size=10)
    one = OnlineSVR(kernel="poly", gamma=1.0, coef0=1.0, C=C).fit(X, y)
    for row in range(5):
        one.forget(row)
        assert one.verify().status == "optimal"


def test_small_targets_in_large_boxes():
    X, y = friedman(40, random_state=0)
    one = OnlineSVR(C=1e5, epsilon=1e-7, gamma=0.5, tol=1e-12).fit(X, 1e-6 * y)
    one.forget(range(20))
    refit = OnlineSVR(C=1e5, epsilon=1e-7, gamma=0.5).fit(X[20:], 1e-6 * y[20:])
    np.testing.assert_allclose(one.predict(X), refit.predict(X), rtol=0, atol=1e-13)


def test_a_path_over_nu_ends_where_the_classes_do(rows):
    X, y = rows
    keep = np.concatenate([np.flatnonzero(y == 1)[:5], np.flatnonzero(y == 2)[:25]])
    X, y = X[keep], y[keep]
    with pytest.raises(ValueError, match="nu_max"):
        regularization_path(X, y, gamma=0.05, nu_min=0.05, nu_max=0.8)
    path = regularization_path(X, y, gamma=0.05, nu_min=0.05, nu_max=0.3)
    refit = NuSVC(nu=0.2, gamma=0.05, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(
        path.model_at(0.2).decision_function(X), refit.decision_function(X), atol=1e-6
    )


def test_a_failed_call_with_a_new_class_leaves_no_trace(rows, monkeypatch):
    X, y = rows
    one = OnlineSVC(gamma=0.05).fit(X[:50], y[:50])
    before = one.decision_function(X)

    def broken(*args):
        raise OSError("no space left on device")

    monkeypatch.setattr(one, "_published", broken)
    with pytest.raises(OSError, match="no space"):
        one.partial_fit(X[50:51], [0])
    monkeypatch.undo()
    assert one.classes_.tolist() == [1, 2]
    assert one.n_rows_ == 50
    np.testing.assert_array_equal(one.decision_function(X), before)
    one.partial_fit(X[50:], y[50:])
    refit = OnlineSVC(gamma=0.05).fit(X, y)
    np.testing.assert_allclose(one.decision_function(X), refit.decision_function(X), atol=1e-9)


@pytest.mark.parametrize("bad", ["length", "one class", "nan"])
def test_a_failed_fit_leaves_the_machine_as_it_was(rows, bad):
    X, y = rows
    one = OnlineSVC(gamma=0.05).fit(X, y)
    before = one.decision_function(X)
    with pytest.raises(ValueError, match=r"inconsistent|class|NaN"):
        one.fit(
            *{
                "length": (X, y[:3]),
                "one class": (X, np.ones(60)),
                "nan": (np.full_like(X, np.nan), y),
            }[bad]
        )
    np.testing.assert_array_equal(one.decision_function(X), before)
    assert one.n_rows_ == 60


@pytest.mark.parametrize("machine", [OnlineSVR(), OnlineOneClassSVM()])
def test_all_rows_may_go_and_others_come(machine):
    X, y = friedman(30, random_state=0)
    given = () if isinstance(machine, OnlineOneClassSVM) else (y,)
    one = machine.fit(X, *given).forget(range(30))
    assert one.n_rows_ == 0
    assert one.intercept_.shape == (1,)
    with pytest.raises(NotFittedError, match="no rows"):
        one.predict(X)
    one.partial_fit(X[:10], *(part[:10] for part in given))
    assert one.verify().status == "optimal"


@pytest.mark.parametrize("kind", [OnlineSVC, OnlineNuSVC])
def test_one_class_is_enough_to_begin_with(kind, rows):
    X, y = rows
    one = kind(gamma=0.05).partial_fit(X[y == 1][:5], np.ones(5, dtype=int))
    assert one.predict(X).tolist() == [1] * 60
    assert (one.decision_function(X) == 0).all()
    assert one.verify().status == "optimal"
    one.partial_fit(X[y == 2][:5], np.full(5, 2))
    assert set(one.predict(X)) == {1, 2}
    one.forget(range(5))  # all rows of the first class
    assert one.predict(X).tolist() == [2] * 60
    assert one.verify().status == "optimal"


def test_labels_are_of_one_kind(rows):
    X, y = rows
    one = OnlineSVC(gamma=0.05).fit(X, y)
    with pytest.raises(ValueError, match="one kind"):
        one.partial_fit(X[:1], ["a"])
    assert one.classes_.tolist() == [1, 2]


def test_a_copy_goes_its_own_way(rows):
    X, y = rows
    one = OnlineSVC(gamma=0.05).fit(X, y)
    copy.copy(one).forget(0)
    assert one.n_rows_ == 60


def test_a_grid_search_over_an_online_machine(rows):
    X, y = rows
    search = GridSearchCV(OnlineSVC(gamma=0.05), {"C": [0.1, 1.0]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.8


def test_breakpoints_are_where_something_breaks(rows):
    X, y = rows
    path = regularization_path(X, y, gamma=0.05, C_min=0.02, C_max=50.0)
    inner = path.breakpoints[1:-1]
    assert not np.isclose(inner, 0.2).any()
    for C in inner[:: max(1, len(inner) // 7)]:
        slopes = [
            (path.coef_at(C + step) - path.coef_at(C)) / step for step in (1e-7 * C, -1e-7 * C)
        ]
        assert np.abs(slopes[0] - slopes[1]).max() > 1e-6
