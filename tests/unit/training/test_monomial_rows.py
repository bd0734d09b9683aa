"""Polynomial kernels on their monomials: the same model where float64 suffices and where not."""

from __future__ import annotations

import numpy as np
import pytest

import widestreet as ws
from conftest import TOL
from support.settings import settings
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.kernels import RBF, Poly
from widestreet._src.problems.formulations import c_svc, one_class
from widestreet._src.rows import as_rows
from widestreet._src.training import engine_sequence
from widestreet._src.training.monomial_rows import monomial_rows
from widestreet._src.training.problem import Problem

HARD = 1e6  # C of problems on which rounding matters


def rows_and_labels(rng, n: int = 60):
    X = 10.0 + rng.standard_normal((n, 3))
    return X, np.where(X[:, 0] + rng.standard_normal(n) > 10.0, 1.0, -1.0)


def test_float64_suffices_for_easy_problems(rng):
    X, y = rows_and_labels(rng)
    kernel, rows = Poly(1e-3, 1.0, 3), as_rows(X)
    assert monomial_rows(kernel, rows, c_svc(y, 1e-3), settings()) is None
    assert monomial_rows(RBF(1.0), rows, c_svc(y, HARD), settings()) is None
    assert monomial_rows(kernel, rows, c_svc(y, HARD), settings(max_memory=1000)) is None


@pytest.mark.parametrize("centred", [True, False])
def test_inner_products_are_kernel_values_up_to_a_translation(centred, rng):
    X, y = rows_and_labels(rng)
    kernel, rows = Poly(0.5, 1.0, 3), as_rows(X)
    dual = c_svc(y, HARD) if centred else one_class(60, 0.5, HARD)
    found = monomial_rows(kernel, rows, dual, settings())
    assert found is not None
    V = found.rows.values + found.centre
    assert found.centre.any() == centred
    np.testing.assert_allclose(V @ V.T, Gram(kernel, rows).block(), rtol=TOL.kernel_float64 * 10)


@pytest.mark.numeric
def test_models_do_not_depend_on_it(rng, monkeypatch):
    X, y = rows_and_labels(rng)
    problem, kernel = Problem(c_svc(y, 1.0)), Poly(0.01, 1.0, 2)
    given = as_rows(X), problem, settings(), lambda record: None
    with monkeypatch.context() as patch:
        patch.setattr(engine_sequence, "monomial_rows", lambda *arguments: None)
        plain = engine_sequence.train(kernel, *given)
    monkeypatch.setattr("widestreet._src.training.monomial_rows._in_doubt", lambda *arguments: True)
    found = engine_sequence.train(kernel, *given)
    assert found.certificate.status == plain.certificate.status == "optimal"
    np.testing.assert_allclose(found.solution.beta, plain.solution.beta, atol=TOL.decision)
    np.testing.assert_allclose(found.bias, plain.bias, atol=TOL.decision)


@pytest.mark.numeric
@pytest.mark.parametrize("machine", [ws.SVC, ws.NuSVR, ws.SVR])
def test_rows_far_from_the_origin_are_certified(machine, rng):
    X, y = rows_and_labels(rng, 80)
    model = machine(kernel="poly", degree=3, gamma=1.0, coef0=1.0, C=1e3).fit(X + 40.0, y)
    assert model.certificate_.status == "optimal"
