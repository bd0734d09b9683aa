"""SVC: known optima of both losses, and weights of classes."""

from __future__ import annotations

import numpy as np
import pytest

import widestreet as ws
from conftest import TOL
from support.fitting import coefficients, fitted
from support.machines import GAMMA, data
from support.problems import two_points


@pytest.mark.parametrize("C", [0.1, 0.5, 10.0])
def test_two_points(C):
    problem, objective = two_points(C)
    model = fitted(problem, tol=TOL.violation)
    assert model.certificate_.dual_objective == pytest.approx(objective, rel=TOL.objective_rel)
    alpha = min(C, 0.5)
    np.testing.assert_allclose(coefficients(model), [-alpha, alpha], atol=TOL.violation)
    np.testing.assert_allclose(model.coef_, [[2 * alpha]], atol=TOL.violation)


@pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
def test_two_points_with_squared_losses(C):
    """Minimise w^2/2 + C 2 (1 - w)^2: w = 4C / (1 + 4C), and alpha is 2C times the loss."""
    model = ws.SVC(C=C, kernel="linear", loss="squared_hinge", tol=TOL.violation)
    model.fit([[-1.0], [1.0]], [0, 1])
    w = 4 * C / (1 + 4 * C)
    primal = w**2 / 2 + 2 * C * (1 - w) ** 2
    np.testing.assert_allclose(model.coef_, [[w]], atol=TOL.decision)
    alpha = 2 * C * (1 - w)
    np.testing.assert_allclose(model.dual_coef_, [[-alpha, alpha]], atol=TOL.decision)
    assert model.certificate_.primal_objective == pytest.approx(primal, rel=TOL.objective_rel)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_a_weight_of_a_class_is_a_weight_of_its_rows(loss):
    X, y = data("svc")
    options = {"gamma": GAMMA, "tol": TOL.twins, "loss": loss}
    by_class = ws.SVC(class_weight={1: 3.0}, **options).fit(X, y)
    by_row = ws.SVC(**options).fit(X, y, np.where(y == 1, 3.0, 1.0))
    np.testing.assert_allclose(
        by_class.decision_function(X), by_row.decision_function(X), atol=TOL.decision
    )


@pytest.mark.parametrize(
    ("options", "match"),
    [({"loss": "log"}, "loss must be"), ({"C": 0.0}, "C must be"), ({"C": np.inf}, "C must be")],
)
def test_bad_parameters_are_named(options, match):
    with pytest.raises(ValueError, match=match):
        ws.SVC(**options).fit([[0.0], [1.0]], [0, 1])


def test_a_gamma_of_zero_separates_nothing():
    X, y = data("svc")
    model = ws.SVC(gamma=0.0).fit(X, y)
    assert model.certificate_.status == "optimal"
    assert len(np.unique(model.decision_function(X))) == 1
    assert model.compact(0.5).compaction_.bound <= 0.5
