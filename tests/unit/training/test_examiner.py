"""How long training goes on, and which of the points that were examined it returns."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import make_classification

import widestreet as ws
from support.noisy_classes import noisy
from widestreet._src.shards.point import Point
from widestreet._src.training.examiner import Examiner, _is_better

pytestmark = pytest.mark.numeric


@pytest.mark.parametrize("strategy", ["auto", "smo", "prsvm"])
@pytest.mark.parametrize("small", [True, False])
def test_a_small_violation_with_a_large_gap_is_not_the_end(strategy, small, request):
    if not small:
        request.getfixturevalue("by_rounds")
    X, y = noisy()
    options = {"C": 1e6, "gamma": 0.1, "tol": 1.0, "strategy": strategy, "random_state": 0}
    early = ws.SVC(gap_tol=None, **options).fit(X, y).certificate_
    late = ws.SVC(**options).fit(X, y).certificate_
    assert early.status == late.status == "optimal"
    assert late.relative_gap <= 0.01 < early.relative_gap
    assert late.gap_tol == 0.01
    assert early.gap_tol is None


def test_the_gap_of_every_pair_is_closed():
    X, y = make_classification(300, 10, n_informative=6, n_classes=3, flip_y=0.2, random_state=0)
    model = ws.SVC(C=1e6, gamma=0.1, tol=1.0, random_state=0).fit(X, y)
    assert all(c.status == "optimal" and c.relative_gap <= 0.01 for c in model.certificates_)


def test_no_model_is_worse_than_zero_coefficients():
    """Kernel values of 1e20: rounding makes pair steps go astray."""
    rng = np.random.default_rng(0)
    X = rng.lognormal(size=(60, 10)) * np.logspace(0, 4, 10)
    y = (np.log(X[:, :3]).sum(axis=1) + rng.normal(size=60) > 0).astype(int)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = ws.SVC(kernel="poly", gamma=1.0, max_iter=200_000, random_state=0).fit(X, y)
    assert model.certificate_.dual_objective >= 0.0
    assert np.isfinite(model.decision_function(X)).all()


@pytest.mark.usefixtures("by_rounds")
def test_the_best_point_that_was_examined_is_returned(monkeypatch):
    from widestreet._src.engines.working_set.engine import WorkingSetEngine

    solve = WorkingSetEngine.solve

    def spoilt(self):
        solution = solve(self)  # which has the optimum examined
        return replace(solution, point=Point.of(0.9 * solution.beta), status="time_limit")

    X, y = noisy()
    honest = ws.SVC(random_state=0).fit(X, y)
    monkeypatch.setattr(WorkingSetEngine, "solve", spoilt)
    model = ws.SVC(random_state=0).fit(X, y)
    assert model.certificate_ == honest.certificate_
    np.testing.assert_array_equal(model.decision_function(X), honest.decision_function(X))


def test_no_pair_is_worse_than_zero_coefficients():
    rng = np.random.default_rng(0)
    X = rng.lognormal(size=(60, 10)) * np.logspace(0, 4, 10)
    y = rng.integers(0, 3, 60)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = ws.SVC(kernel="poly", gamma=1.0, max_iter=5_000, random_state=0).fit(X, y)
    assert all(c.dual_objective >= 0.0 for c in model.certificates_)


def test_of_points_with_equal_objectives_that_with_the_smaller_violation_is_better():
    X, y = noisy(80)
    found = []

    def kept(self, point):
        found.append(original(self, point))
        return found[-1]

    original = Examiner._examined
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Examiner, "_examined", kept)
        ws.SVC().fit(X, y)
    one = found[-1]
    worse = replace(one, violation=one.violation + 1.0, dual=one.dual * (1 + 1e-12))
    lower = replace(one, violation=0.0, dual=one.dual - 1.0)
    assert _is_better(one, worse)
    assert not _is_better(worse, one)
    assert _is_better(one, lower)
    assert not _is_better(one, one)
