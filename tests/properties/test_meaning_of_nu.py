"""What nu means, which values of it there can be, and its relation to C and epsilon."""

from __future__ import annotations

import re
from contextlib import contextmanager, nullcontext

import numpy as np
import pytest
from scipy import sparse
from sklearn import svm
from sklearn.datasets import load_breast_cancer

import widestreet as ws
from conftest import OF_THREE, TOL
from support.fitting import coefficients, decision
from support.machines import data, machine
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


def test_signs_are_those_of_scikit_learn_for_indefinite_kernels():
    """Where rho is negative, which is possible there, dividing by it turns every sign."""
    X, y = load_breast_cancer(return_X_y=True)
    with pytest.warns(UserWarning, match="scale the features first"):
        ours = ws.NuSVC(kernel="sigmoid", n_jobs=1).fit(X, y)
    theirs = svm.NuSVC(kernel="sigmoid").fit(X, y)
    # the two may end at different stationary points
    assert np.mean(ours.predict(X) == theirs.predict(X)) > 0.9
