"""What nu means, which values of it there can be, and its relation to C and epsilon."""

from __future__ import annotations

import re
from contextlib import contextmanager, nullcontext
from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse
from sklearn import svm
from sklearn.datasets import load_breast_cancer

import widestreet as ws
from conftest import OF_THREE, TOL
from support.fitting import coefficients, decision
from support.machines import NU, C, assert_same_function, data, machine
from widestreet._src.estimators.batch import BatchFit
from widestreet._src.training import classification

pytestmark = pytest.mark.numeric

NU_SVC = ("nu_svc", "nu_svc" + OF_THREE)
NU_KINDS = (*NU_SVC, "nu_svr", "one_class")


# -- values that are refused -------------------------------------------------------------------


@pytest.fixture
def idle(monkeypatch):
    """A context in which any work on the rows is an error."""

    def refuse(*args, **options):
        raise AssertionError("there should be nothing to do")

    @contextmanager
    def block():
        with monkeypatch.context() as patch:
            patch.setattr(BatchFit, "_prepare", refuse)
            patch.setattr(classification, "train", refuse)
            patch.setattr(classification, "train_pairs", refuse)
            yield

    return block


@pytest.mark.parametrize("nu", [0, 0.0, -0.1, 1.0001, 2, np.nan, np.inf, "half", None, True, [0.5]])
@pytest.mark.parametrize("kind", NU_KINDS)
def test_values_outside_of_0_to_1(kind, nu, idle):
    with idle(), pytest.raises(ValueError, match=r"\bnu must be .* greater than 0 and at most 1"):
        machine(kind, nu=nu).fit(*data(kind))


def uneven(kind):
    """Half of the last class."""
    X, y = data(kind)
    keep = (y < y.max()) | (np.arange(len(y)) % 2 == 0)
    return X[keep], y[keep]


SHARES = {
    "rows": ({}, lambda y: None),
    "sample_weight": ({}, lambda y: np.where(y == y.min(), 0.25, 1.0)),
    "rows of weight zero": ({}, lambda y: (np.arange(len(y)) % 4 > 0) + 0.0),
    "class_weight": ({"class_weight": {0: 2.0, 1: 0.5}}, lambda y: None),
}


@pytest.mark.parametrize("shares", SHARES)
@pytest.mark.parametrize("kind", NU_SVC)
def test_a_nu_that_cannot_be(kind, shares, idle):
    """Refused before any work; the message has the largest nu that can be."""
    X, y = uneven(kind)
    y = np.maximum(y, 0)
    options, weigh = SHARES[shares]
    weight = weigh(y)
    totals = np.bincount(y, weight)
    for label, factor in options.get("class_weight", {}).items():
        totals[label] *= factor
    largest = 2 * totals.min() / (totals.min() + totals.max())
    message = r"nu is infeasible: nu=1\.0\b.*largest possible"
    with idle(), pytest.raises(ValueError, match=message) as caught:
        machine(kind, nu=1.0, **options).fit(X, y, weight)
    named = float(re.search(r" is ([0-9.e-]+);", str(caught.value)).group(1))
    assert named == pytest.approx(largest, rel=TOL.exact)
    model = machine(kind, nu=named, **options).fit(X, y, weight)
    assert {c.status for c in model.certificates_} == {"optimal"}
    assert model.certificate_.kkt_violation <= TOL.violation
    smaller = model.classes_[np.argmin(totals)]  # whose rows are all at their bound
    there = np.ones(len(y)) if weight is None else weight
    assert model.n_support_[np.argmin(totals)] == ((y == smaller) & (there > 0)).sum()
    with idle(), pytest.raises(ValueError, match="infeasible"):
        machine(kind, nu=named * (1 + 1e-9), **options).fit(X, y, weight)


def test_the_message_names_the_classes():
    X, y = data("nu_svc" + OF_THREE)
    names = np.array(["cat", "dog", "eel"])[y]
    weight = np.where(names == "dog", 0.1, 1.0)
    with pytest.raises(ValueError, match=r"classes dog and (cat|eel) is 0\.18.*class_weight"):
        machine("nu_svc").fit(X, names, weight)
    model = machine("nu_svc", class_weight="balanced", nu=1.0).fit(X, names, weight)
    assert model.certificate_.status == "optimal"


@pytest.mark.parametrize("nu", [1, 1.0, np.float32(0.25), np.float64(1e-3), np.int64(1)])
@pytest.mark.parametrize("kind", NU_KINDS)
def test_values_that_are_accepted(kind, nu):
    no_street = pytest.warns(UserWarning, match="the margin is zero to within tol=0.001")
    with no_street if kind.startswith("nu_svc") and nu < 0.01 else nullcontext():
        model = machine(kind, nu=nu, tol=1e-3).fit(*data(kind))
    assert model.certificate_.status == "optimal"


# -- shares of the rows ------------------------------------------------------------------------


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("nu", [0.2, 0.5, 0.8, 1.0])
@pytest.mark.parametrize("kind", ["nu_svc", "nu_svr", "one_class"])
def test_nu_bounds_errors_and_support_vectors(kind, nu, form, rng):
    """At most a part nu of the weight is beyond the margin, at least such a part supports it."""
    X, y = data(kind)
    weight = rng.choice([0.5, 1.0, 2.0], len(y))
    for label in np.unique(y) if kind == "nu_svc" else []:
        weight[y == label] /= weight[y == label].sum()  # else 1.0 is too large
    weight *= len(y) / weight.sum()
    model = machine(kind, nu=nu).fit(form(X), y, weight)
    value = decision(model, form(X))
    beyond = {
        "nu_svc": lambda: y * value < 1 - TOL.decision,
        "nu_svr": lambda: np.abs(y - value) > model.epsilon_ + TOL.decision,
        "one_class": lambda: value < -TOL.decision * abs(model.offset_[0]),
    }[kind]()
    supporting = coefficients(model) != 0
    slack = TOL.exact * len(y)
    assert weight[beyond].sum() / weight.sum() <= nu + slack
    assert nu <= weight[supporting].sum() / weight.sum() + slack


# -- the same model by other parameters --------------------------------------------------------


@pytest.mark.parametrize("nu", [0.2, 0.4, 0.6])
def test_a_nu_svc_is_an_svc(nu):
    """With C = 1 / rho, the largest of its coefficients."""
    X, y = data("nu_svc")
    model = machine("nu_svc", nu=nu).fit(X, y)
    assert_same_function(model, machine("svc", C=np.abs(model.dual_coef_).max()).fit(X, y), X)


@pytest.mark.parametrize("nu", [0.2, 0.4, 0.6])
def test_a_nu_svr_is_an_svr(nu, rng):
    X, y = data("nu_svr")
    weight = rng.choice([0.5, 1.0, 2.0], len(y))
    model = machine("nu_svr", nu=nu).fit(X, y, weight)
    assert model.epsilon_ > 0
    assert_same_function(model, machine("svr", epsilon=model.epsilon_).fit(X, y, weight), X)


def test_a_tube_that_takes_everything_in_has_no_width():
    """Above the share of rows that are off the median, epsilon is zero: only C matters."""
    X, y = data("nu_svr")
    model = machine("nu_svr", nu=1.0).fit(X, y)
    assert model.epsilon_ == pytest.approx(0, abs=TOL.decision)
    assert_same_function(model, machine("svr", epsilon=0.0).fit(X, y), X)


def test_a_region_of_everything_is_a_density():
    """With nu = 1 every coefficient is at its bound: score_samples is the sum of the kernel."""
    X, _ = data("one_class")
    model = machine("one_class", nu=1.0, kernel="laplacian").fit(X)
    assert (coefficients(model) == 1).all()
    distance = np.abs(X[:, None] - X).sum(axis=2)
    density = np.exp(-model.gamma * distance).sum(axis=1)
    np.testing.assert_allclose(model.score_samples(X), density, atol=TOL.decision)


def test_scaling_of_a_nu_regression():
    X, y = data("nu_svr")
    one = machine("nu_svr").fit(X, y)
    other = machine("nu_svr", C=4 * C).fit(X, 4 * y + 100)
    assert np.abs(4 * one.predict(X) + 100 - other.predict(X)).max() <= 4 * TOL.decision
    assert other.epsilon_ == pytest.approx(4 * one.epsilon_, abs=4 * TOL.decision)
    assert one.nu == NU


@pytest.mark.parametrize("classes", [2, 3])
def test_a_street_that_tol_cannot_see_is_not_measured_by(classes, rng):
    """Labels by chance and a small nu: the classes overlap everywhere, and there is a warning."""
    X, y = rng.normal(size=(90, 2)), np.arange(90) % classes
    with pytest.warns(UserWarning, match=r"within tol=0.001 .*0 against 1.*raise nu"):
        model = ws.NuSVC(nu=0.05, tol=Fraction(1, 1000), n_jobs=1, random_state=0).fit(X, y)
    assert np.abs(model.dual_coef_).max() <= 1
    assert np.isfinite(model.decision_function(X)).all()


def test_signs_are_those_of_scikit_learn_for_indefinite_kernels():
    """Where rho is negative, which is possible there, dividing by it turns every sign."""
    X, y = load_breast_cancer(return_X_y=True)
    with pytest.warns(UserWarning, match="scale the features first"):
        ours = ws.NuSVC(kernel="sigmoid", n_jobs=1).fit(X, y)
    theirs = svm.NuSVC(kernel="sigmoid").fit(X, y)
    # the two may end at different stationary points
    assert np.mean(ours.predict(X) == theirs.predict(X)) > 0.9
