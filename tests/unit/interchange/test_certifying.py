"""Certificates of models of any origin: equal to those of the fit, and not deceived."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from sklearn import svm
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import widestreet as ws
from conftest import TOL
from support.fitted_models import fitted, names, online_names
from support.machines import data, machine
from widestreet._experiments.harness.discovery import solvers, tasks
from widestreet._experiments.harness.verdict import verdict

CLOSE = {"rtol": TOL.objective_rel, "atol": TOL.violation}


def figures(found):
    return [(c.primal_objective, c.dual_objective, c.kkt_violation) for c in found]


def test_it_is_the_certificate_of_the_fit():
    for name in names() + online_names():
        model, X, y, _ = fitted(name)
        found = ws.certify(model, X, y, pairs=True)
        assert [c.status for c in found] == [c.status for c in model.certificates_], name
        np.testing.assert_allclose(figures(found), figures(model.certificates_), **CLOSE)
        assert [c.n_rows for c in found] == [c.n_rows for c in model.certificates_], name
        one = ws.certify(model, X, y)
        assert one.kkt_violation == max(c.kkt_violation for c in found), name


@pytest.mark.parametrize("solver", ["scikit-learn", "scikit-learn-intelex"])
@pytest.mark.parametrize(("task", "rows"), [("twonorm", 400), ("friedman", 300)])
def test_it_is_the_verdict_of_the_race(solver, task, rows):
    racer, task = solvers()[solver], tasks()[task]
    if racer.absent():
        pytest.skip(racer.absent())
    split = task.load(rows)
    given = split.X, split.y
    model = racer.fit(task, racer.prepare(task, *given), 1e-3, 1)
    expected = verdict(task, *given, racer.solution(model, given), 1)
    found = ws.certify(model, *given)
    wanted = [expected[key] for key in ("primal_objective", "dual_objective", "violation")]
    np.testing.assert_allclose(figures([found])[0], wanted, **CLOSE)
    assert found.infeasibility == pytest.approx(expected["infeasibility"], abs=TOL.feasibility)


def test_it_is_the_verdict_of_the_race_for_several_classes():
    X, y = data("svc of three")
    model = svm.SVC(gamma=0.5).fit(X, y)
    racer = solvers()["scikit-learn"]
    task = copy.copy(tasks()["twonorm"])
    for name, value in {"gamma": 0.5, "C": 1.0}.items():
        object.__setattr__(task, name, value)
    expected = verdict(task, X, y, racer.solution(model, (X, y)), 1)
    found = ws.certify(model, X, y, pairs=True)
    assert len(found) == 3
    assert sum(c.primal_objective for c in found) == pytest.approx(expected["primal_objective"])
    assert max(c.kkt_violation for c in found) == pytest.approx(expected["violation"])


@pytest.mark.parametrize(
    "model",
    [
        svm.SVC(class_weight={-1: 1.3, 1: 0.7}, C=0.7),
        svm.SVC(class_weight="balanced", kernel="poly", coef0=1.0),
        svm.NuSVC(nu=0.4),
        svm.NuSVC(nu=0.4, class_weight="balanced"),
        svm.SVR(kernel="linear"),
        svm.NuSVR(C=3.0),
        svm.OneClassSVM(nu=0.2),
        make_pipeline(StandardScaler(), svm.SVC()),
    ],
    ids=lambda model: type(model).__name__,
)
def test_models_of_scikit_learn_with_weights_and_in_any_order(model):
    X, y = data("svc")
    rng = np.random.default_rng(0)
    weight, order = rng.random(len(y)) + 0.5, rng.permutation(len(y))
    step = {"svc__sample_weight": weight} if hasattr(model, "steps") else {"sample_weight": weight}
    model.fit(X, y, **step)
    one = ws.certify(model, X, y, weight, tol=0.002)
    assert one.status == "optimal"
    other = ws.certify(model, X[order], y[order], weight[order], tol=0.002)
    np.testing.assert_allclose(figures([other]), figures([one]), **CLOSE)
    assert ws.certify(model, X, y, 3 * weight).status == "stalled"  # not the weights of the fit


TAMPERED = {
    "intercept": lambda m: m.intercept_.__iadd__(0.01),
    "coefficient": lambda m: m.dual_coef_.__setitem__((0, 0), m.dual_coef_[0, 0] * 1.05),
    "all coefficients": lambda m: m.dual_coef_.__imul__(0.9),
    "box": lambda m: m.set_params(C=m.C * 0.5),
    "kernel": lambda m: m.set_params(gamma=m.gamma * 1.1),
}


@pytest.mark.parametrize("what", TAMPERED)
@pytest.mark.parametrize("kind", [svm.SVC, svm.SVR])
def test_a_model_that_was_changed_is_not_optimal(what, kind):
    X, y = data("svc" if kind is svm.SVC else "svr")
    model = kind(C=10.0, gamma=0.5).fit(X, y)
    assert ws.certify(model, X, y).status == "optimal"
    TAMPERED[what](model)
    assert ws.certify(model, X, y).status == "stalled"


def test_coefficients_beyond_the_box_are_named():
    X, y = data("svc")
    model = svm.SVC(C=10.0, gamma=0.5).fit(X, y).set_params(C=1.0)
    found = ws.certify(model, X, y)
    assert found.infeasibility > 1
    assert np.isnan(found.gap)
    assert "are C, nu and the weights those of the fit?" in str(found)


def test_rows_of_weight_zero_are_no_rows():
    X, y = data("svc")
    weight = (np.arange(len(y)) % 3 > 0).astype(float)
    model = ws.SVC().fit(X, y, weight)
    found = ws.certify(model, X, y, weight)
    assert found.status == "optimal"
    assert found.n_rows == weight.sum()


def test_what_is_wrong_is_named():
    X, y = data("svc")
    model = svm.SVC().fit(X, y)
    with pytest.raises(NotFittedError):
        ws.certify(svm.SVC(), X, y)
    with pytest.raises(TypeError, match="LinearSVC"):
        ws.certify(svm.LinearSVC().fit(X, y), X, y)
    with pytest.raises(ValueError, match="support vectors are not among the rows"):
        ws.certify(model, 2 * X, y)
    with pytest.raises(ValueError, match="y is missing"):
        ws.certify(model, X)
    with pytest.raises(ValueError, match="label 7"):
        ws.certify(model, X, np.where(y > 0, 7, y))
    with pytest.raises(ValueError, match="no row of class"):
        ws.certify(model, X[y > 0], y[y > 0])
    with pytest.raises(ValueError, match="features"):
        ws.certify(model, X[:, :2], y)
    with pytest.raises(ValueError, match="tol must be"):
        ws.certify(model, X, y, tol=0.0)
    with pytest.raises(ValueError, match="support vectors"):
        ws.certify(model, X, -y)


def test_rows_in_files(tmp_path):
    X, y = data("svr")
    np.save(tmp_path / "rows.npy", np.column_stack([X, y]))
    rows, target = ws.open_rows(tmp_path / "rows.npy", target=3, dtype="float64")
    assert ws.certify(ws.SVR().fit(X, y), rows, target).status == "optimal"


@pytest.mark.parametrize("name", ["dual_coef_", "intercept_"])
def test_values_that_are_not_finite_are_named(name):
    X, y = data("svc")
    model = machine("svc").fit(X, y)
    setattr(model, name, np.full_like(getattr(model, name), np.nan))
    with pytest.raises(ValueError, match=f"model: {name} has values that are not finite"):
        ws.certify(model, X, y)


def test_a_compact_model_is_an_approximation():
    X, y = data("svc")
    small = machine("svc").fit(X, y).compact(0.5)
    assert small.compaction_.n_after < small.compaction_.n_before
    found = ws.certify(small, X, y)
    assert found.status == "approximate"
    assert "those of the fit?" not in str(found)
    weights = ws.SVC(kernel="linear").fit(X, y).compact(0.5)
    with pytest.raises(ValueError, match="certify the model before compact"):
        ws.certify(weights, X, y)


def test_a_model_with_a_vector_less_is_refused():
    X, y = data("svc")
    for model in (svm.SVC().fit(X, y), ws.SVC().fit(X, y)):
        model.support_ = model.support_[:-1]
        with pytest.raises(ValueError, match="dual_coef_ has the coefficients of"):
            ws.certify(model, X, y)
