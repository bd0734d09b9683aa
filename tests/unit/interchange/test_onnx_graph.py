"""The nodes of a model: coefficients of pairs, and operators of the standard domain only."""

from __future__ import annotations

import numpy as np
import pytest

from support.fitted_models import fitted, names
from widestreet._src.estimators.scoring import dense_coef
from widestreet._src.interchange.onnx_graph import check_exportable, coefficients_of_pairs
from widestreet.online import OnlineSVC


def test_coefficients_of_pairs_give_the_decision_values_of_pairs():
    model, _, _, new = fitted("svc of three/linear/dense")
    coef = coefficients_of_pairs(model._layout, dense_coef(model.dual_coef_), model.n_support_)
    assert coef.shape == (len(model.support_), 3)
    found = new @ model.support_vectors_.T @ coef + model.intercept_
    np.testing.assert_allclose(found, model.decision_function(new), atol=1e-9)


def test_a_model_of_one_problem_has_one_column():
    for name in ("svr/rbf/dense", "svc/rbf/dense"):
        model = fitted(name).model
        coef = coefficients_of_pairs(model._layout, model.dual_coef_, model.n_support_)
        assert np.array_equal(coef, model.dual_coef_.T)


def test_all_models_but_those_of_one_class_can_be_written():
    for name in names():
        check_exportable(fitted(name).model)
    one = OnlineSVC(gamma=1.0).partial_fit(np.eye(3), [1, 1, 1])
    with pytest.raises(ValueError, match="rows of one class"):
        check_exportable(one)
