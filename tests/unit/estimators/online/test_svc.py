"""OnlineSVC: known optima, row by row."""

from __future__ import annotations

import numpy as np
import pytest

from conftest import TOL
from widestreet.online import OnlineSVC


@pytest.mark.parametrize("C", [0.1, 0.5, 10.0])
def test_two_points(C):
    """x = -1 and x = +1, linear kernel: alpha = min(C, 1/2) on both."""
    model = OnlineSVC(C=C, kernel="linear").partial_fit([[-1.0]], [0], classes=[0, 1])
    model.partial_fit([[1.0]], [1])
    alpha = min(C, 0.5)
    np.testing.assert_allclose(model.dual_coef_, [[-alpha, alpha]], atol=TOL.detour)
    np.testing.assert_allclose(model.coef_, [[2 * alpha]], atol=TOL.detour)
    assert model.verify().dual_objective == pytest.approx(2 * alpha - 2 * alpha**2)


def test_c_is_checked_by_every_call():
    model = OnlineSVC(kernel="linear").fit([[-1.0], [1.0]], [0, 1])
    for call in (lambda: model.partial_fit([[2.0]], [1]), lambda: model.forget([0])):
        model.set_params(C=-1.0)
        with pytest.raises(ValueError, match="C must be"):
            call()
    assert model.n_rows_ == 2


def test_a_point_far_on_its_side_changes_nothing():
    model = OnlineSVC(kernel="linear", C=10.0).fit([[-1.0], [1.0]], [0, 1])
    before = model.coef_.copy()
    model.partial_fit([[5.0]], [1])
    np.testing.assert_allclose(model.coef_, before, atol=TOL.detour)
    assert model.support_.tolist() == [0, 1]
