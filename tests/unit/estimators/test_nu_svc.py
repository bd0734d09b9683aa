"""NuSVC: the SVC that it is, and what it refuses."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import widestreet as ws
from conftest import OF_THREE
from support.machines import assert_same_function, data, machine

pytestmark = pytest.mark.numeric


def test_the_message_names_the_classes():
    X, y = data("nu_svc" + OF_THREE)
    names = np.array(["cat", "dog", "eel"])[y]
    weight = np.where(names == "dog", 0.1, 1.0)
    with pytest.raises(ValueError, match=r"classes dog and (cat|eel) is 0\.18.*class_weight"):
        machine("nu_svc").fit(X, names, weight)
    model = machine("nu_svc", class_weight="balanced", nu=1.0).fit(X, names, weight)
    assert model.certificate_.status == "optimal"


@pytest.mark.parametrize("nu", [0.2, 0.4, 0.6])
def test_a_nu_svc_is_an_svc(nu):
    """With C = 1 / rho, the largest of its coefficients."""
    X, y = data("nu_svc")
    model = machine("nu_svc", nu=nu).fit(X, y)
    assert_same_function(model, machine("svc", C=np.abs(model.dual_coef_).max()).fit(X, y), X)


@pytest.mark.parametrize("classes", [2, 3])
def test_a_street_that_tol_cannot_see_is_not_measured_by(classes, rng):
    """Labels by chance and a small nu: the classes overlap everywhere, and there is a warning."""
    X, y = rng.normal(size=(90, 2)), np.arange(90) % classes
    with pytest.warns(UserWarning, match=r"within tol=0.001 .*0 against 1.*raise nu"):
        model = ws.NuSVC(nu=0.05, tol=Fraction(1, 1000), n_jobs=1, random_state=0).fit(X, y)
    assert np.abs(model.dual_coef_).max() <= 1
    assert np.isfinite(model.decision_function(X)).all()
