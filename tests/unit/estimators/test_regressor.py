"""The predict side of regressions: sums of coefficient times kernel value, plus the bias."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from conftest import TOL
from reference import kernels
from support.machines import CONVEX, data, machine


@pytest.mark.parametrize("kind", ["svr", "nu_svr"])
@pytest.mark.parametrize("kernel", CONVEX)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_values_are_the_sums_of_the_definition(kind, kernel, form):
    X, y = data(kind)
    model = machine(kind, **CONVEX[kernel], tol=1e-3).fit(form(X[:80]), y[:80])
    options = {key: value for key, value in CONVEX[kernel].items() if key != "kernel"}
    vectors = kernels.dense(model.support_vectors_)
    K = kernels.matrix(kernel, X[80:], vectors, **options)
    expected = K @ kernels.dense(model.dual_coef_)[0] + model.intercept_
    found = model.predict(form(X[80:]))
    size = np.abs(kernels.dense(model.dual_coef_)).sum() * np.abs(K).max()
    np.testing.assert_allclose(found, expected, rtol=0, atol=TOL.scan_float64 * size)


def test_the_score_is_the_share_of_variance_explained():
    X, y = data("svr")
    model = machine("svr").fit(X, y)
    left = np.square(y - model.predict(X)).sum()
    assert model.score(X, y) == pytest.approx(1 - left / np.square(y - y.mean()).sum())
