"""Probabilities: sums, order, the most probable class, weights, limits of the parameters."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.special import expit
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.metrics import log_loss
from sklearn.model_selection import GroupKFold, StratifiedKFold

import widestreet as ws
from conftest import OF_THREE, TOL
from support.machines import data, machine
from widestreet._src.calibration import removals
from widestreet.datasets import twonorm

METHODS = ("sigmoid", "isotonic", "temperature")
CLASSIFIERS = ("svc", "nu_svc", "svc" + OF_THREE)


def calibrated(kind, **options):
    shape = {"decision_function_shape": "ovr"} if kind.endswith(OF_THREE) else {}
    return ws.CalibratedSVC(machine(kind, **shape), **options)


@pytest.mark.parametrize("kind", CLASSIFIERS)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("cv", ["loo", 3])
def test_probabilities_of_all_classes(kind, method, cv):
    X, y = data(kind, 60)
    model = calibrated(kind, method=method, cv=cv).fit(X, y)
    p = model.predict_proba(X * 1.125)
    assert p.shape == (60, len(np.unique(y)))
    assert ((p > 0) & (p < 1)).all()
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=TOL.exact * 10)
    np.testing.assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(X * 1.125))
    np.testing.assert_array_equal(
        np.exp(model.predict_log_proba(X)), np.exp(np.log(model.predict_proba(X)))
    )
    assert model.cv_ == cv


@pytest.mark.parametrize("kind", ["svc", "nu_svc"])
@pytest.mark.parametrize("method", METHODS)
def test_probabilities_follow_the_decision_values(kind, method, rng):
    X, y = data(kind, 60)
    model = calibrated(kind, method=method).fit(X, y)
    new = 3.0 * rng.standard_normal((200, 3))
    order = np.argsort(model.estimator_.decision_function(new))
    assert (np.diff(model.predict_proba(new[order])[:, 1]) >= 0).all()


@pytest.mark.parametrize("kind", ["svc", "svc" + OF_THREE])
@pytest.mark.parametrize("method", ["sigmoid", "temperature"])
def test_weights_are_repetitions_in_any_order(kind, method, rng):
    X, y = data(kind, 40)
    weight = np.arange(40) % 4.0
    many = rng.permutation(np.repeat(np.arange(40), weight.astype(int)))
    one = calibrated(kind, method=method, cv="loo").fit(X, y, weight)
    other = calibrated(kind, method=method, cv="loo").fit(X[many], y[many])
    size = max(10.0, abs(one.estimator_.dual_coef_).sum())
    difference = np.abs(one.predict_proba(X) - other.predict_proba(X)).max()
    assert difference <= TOL.decision * size


@pytest.mark.parametrize("storage", [sparse.csr_matrix, np.asfortranarray])
def test_storages_of_rows_do_not_matter(storage):
    X, y = data("svc", 60)
    one = calibrated("svc").fit(X, y)
    other = calibrated("svc").fit(storage(X), y)
    np.testing.assert_allclose(
        one.predict_proba(X), other.predict_proba(storage(X)), rtol=0, atol=TOL.decision * 10
    )


def test_labels_may_be_words():
    X, y = data("svc" + OF_THREE, 60)
    words = np.array(["one", "three", "two"])[y]
    model = calibrated("svc" + OF_THREE).fit(X, words.tolist())
    assert model.classes_.tolist() == ["one", "three", "two"]
    assert (model.predict(X) == words).mean() > 0.5


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_folds_agree_with_scikit_learn(method):
    """The same folds and the same map; isotonic regression has Platt's targets here."""
    X, y = data("svc", 90)
    folds = list(StratifiedKFold(3).split(X, y))
    ours = calibrated("svc", method=method, cv=folds).fit(X, y)
    theirs = CalibratedClassifierCV(machine("svc"), method=method, cv=folds, ensemble=False)
    p, q = (model.fit(X, y).predict_proba(X)[:, 1] for model in (ours, theirs))
    if method == "isotonic":
        plus, minus = (y == y.max()).sum(), (y == y.min()).sum()
        low, high = 1 / (minus + 2), (plus + 1) / (plus + 2)
        q = low + (high - low) * q
    assert np.abs(p - q).max() <= 100 * TOL.decision


def test_probabilities_are_true_ones():
    """Two normal distributions, whose probabilities are known."""
    X, y = twonorm(400, random_state=0)
    new, labels = twonorm(2000, random_state=1)
    model = ws.CalibratedSVC(ws.SVC(kernel="linear", C=0.1, n_jobs=1), cv=5).fit(X, y)
    true = expit(2 * 2 / np.sqrt(20) * new.sum(axis=1))
    best = log_loss(labels, np.column_stack([1 - true, true]))
    assert log_loss(labels, model.predict_proba(new)) < best + 0.03


def test_auto_chooses_by_cost(monkeypatch):
    X, y = data("svc", 60)
    monkeypatch.setitem(removals.AFFORDABLE, "probabilities", 1e9)
    assert calibrated("svc").fit(X, y).cv_ == "loo"
    monkeypatch.setitem(removals.AFFORDABLE, "probabilities", 0.0)
    assert calibrated("svc").fit(X, y).cv_ == 5


def test_groups_are_folds(rng):
    X, y = data("svc", 60)
    groups = rng.integers(0, 6, 60)
    folds = list(GroupKFold(3).split(X, y, groups))
    assert calibrated("svc", cv=folds).fit(X, y).cv_ == 3
    with pytest.raises(TypeError, match="groups"):
        calibrated("svc").fit(X, y, groups=groups)


@pytest.mark.parametrize("method", METHODS)
def test_a_class_that_is_in_no_test_set(method):
    X, y = data("svc" + OF_THREE, 60)
    every, tested = np.arange(60), np.flatnonzero(y != 2)
    model = calibrated("svc", method=method)
    with pytest.warns(UserWarning, match=r"^cv: no test set has .* of class 2, and its prob"):
        model.set_params(cv=[(every[10:], tested[tested < 10])]).fit(X, y)
    with pytest.raises(ValueError, match=r"^cv: no test set has .* of class 0, 1, 2: pass folds"):
        model.set_params(cv=[(every, [])]).fit(X, y)
    one = [(np.setdiff1d(every, [0]), [0])]
    if method == "temperature":
        with pytest.warns(UserWarning, match="of class 1, 2, and its"):
            model.set_params(cv=one).fit(X, y)
    else:
        with pytest.raises(ValueError, match=r"^cv: no test set has .* of class 1, 2: pass"):
            model.set_params(cv=one).fit(X, y)


def test_a_class_of_one_row():
    X, y = data("svc", 30)
    y = np.where(np.arange(30) < 29, y.min(), y.max())
    model = calibrated("svc").fit(X, y)
    assert model.cv_ == "loo"
    assert model.predict_proba(X)[:, 1].max() < 0.5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "beta"}, "method must be one of 'sigmoid', 'isotonic', 'temperature'"),
        ({"cv": 1}, "cv must be an integer of at least 2"),
        ({"cv": "jackknife"}, "cv must be one of 'auto', 'loo'"),
        ({"cv": 29}, "cv=29: 29 folds need as many distinct rows of each class"),
    ],
    ids=str,
)
def test_wrong_parameters_are_named(options, message):
    X, y = data("svc", 40)
    model = calibrated("svc", **options)
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)
    assert not hasattr(model, "estimator_")


def test_one_class_is_refused():
    X, _ = data("svc", 20)
    with pytest.raises(ValueError, match="class"):
        calibrated("svc").fit(X, np.ones(20))


def test_an_infeasible_nu_of_a_fold_is_named():
    """Half of the rows may be errors in all rows together, but not without those of one class."""
    X, y = data("nu_svc", 40)
    y = np.where(np.arange(40) < 20, -1, 1)
    folds = [(np.arange(10, 40), np.arange(10)), (np.r_[:30], np.arange(30, 40))]
    model = ws.CalibratedSVC(machine("nu_svc", nu=0.9), cv=folds)
    with pytest.raises(ValueError, match=r"^cv: a fold cannot be trained.*nu"):
        model.fit(X, y)


def test_parameters_of_the_svm_can_be_searched():
    model = clone(calibrated("svc")).set_params(estimator__C=3.0)
    assert model.get_params()["estimator__C"] == 3.0
