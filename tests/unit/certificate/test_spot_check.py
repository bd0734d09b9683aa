"""Scores by a second computation: they are those of the core, and a wrong core is found out."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import widestreet as ws
from widestreet._src.certificate import float64_where_needed
from widestreet._src.certificate.spot_check import plain_scores
from widestreet._src.kernels.bounded_scan import BoundedScan
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.kernels import RBF, Laplacian, Linear, Poly, Sigmoid
from widestreet._src.kernels.native import NativeBackend
from widestreet._src.rows import as_rows
from widestreet.datasets import checkerboard, twonorm

pytestmark = pytest.mark.numeric

KERNELS = [Linear(), RBF(0.5), Laplacian(0.5), Poly(0.5, 1.0, 3), Sigmoid(0.01, 0.1)]


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("storage", ["dense", "sparse"])
def test_plain_scores_are_those_of_the_core(kernel, storage, rng):
    X = rng.normal(size=(50, 6)) * (rng.random((50, 6)) < 0.5)
    rows = as_rows(X if storage == "dense" else sparse.csr_matrix(X), centred=True)
    gram, J, coef = Gram(kernel, rows), np.arange(10, 40), rng.normal(size=30)
    expected = gram.scan(np.array([3]), J, coef)[0]
    size = float(np.abs(coef).sum())
    bound = float(gram.score_error(30, size, float(coef.sum())))
    [plain] = plain_scores(gram, np.array([3]), J, coef)
    assert plain == pytest.approx(expected, rel=0, abs=8 * bound)


@pytest.mark.parametrize(("double", "classes"), [(True, 2), (False, 2), (True, 3)])
def test_a_wrong_core_cannot_certify_itself(double, classes, monkeypatch):
    """Scores that are off by a part in a million, in float64 or only in float32 screening."""
    add_scan = NativeBackend.add_scan

    def wrong(self, I, J, coef, out, in_double):
        before = out.copy()
        add_scan(self, I, J, coef, out, in_double)
        if in_double == double:
            out += (1e-6 if double else 1e-2) * np.abs(out - before).max()

    monkeypatch.setattr(NativeBackend, "add_scan", wrong)
    monkeypatch.setattr(float64_where_needed, "_SCREENING_VALUES", 0)
    monkeypatch.setattr(float64_where_needed, "FLOAT64_FRACTION", 1.0)
    monkeypatch.setattr(float64_where_needed, "_LOOSE_FRACTION", 1.0)  # not by another scan
    X, y = checkerboard(4000, random_state=0)
    if classes > 2:
        y = np.where(X[:, 0] > 3.0, 2.0, y)
    options = {"gamma": 2.0, "C": 10.0, "max_iter": 10**6, "random_state": 0}
    with pytest.warns(ConvergenceWarning, match="WIDESTREET_ISA"):
        model = ws.SVC(**options, tol=0.1, gap_tol=None).fit(X, y)
    assert model.certificate_.status != "optimal"
    assert model.certificate_.inconsistent


def test_a_wrong_scan_with_a_tight_bound_cannot_certify_itself(monkeypatch):
    sums = BoundedScan.sums

    def wrong(self, I):
        score, error = sums(self, I)
        return score + 1e-2 * np.abs(score).max(initial=0.0), error

    monkeypatch.setattr(BoundedScan, "sums", wrong)
    monkeypatch.setattr(float64_where_needed, "_SCREENING_VALUES", 0)
    monkeypatch.setattr(float64_where_needed, "_LOOSE_FRACTION", 0.0)  # always by this scan
    X, y = twonorm(4000, random_state=0)
    with pytest.warns(ConvergenceWarning, match="WIDESTREET_ISA"):
        model = ws.SVC(gamma=0.05, tol=0.1, gap_tol=None, random_state=0).fit(X, y)
    assert model.certificate_.inconsistent
