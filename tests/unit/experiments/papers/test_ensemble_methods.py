"""What the paper on ensembles measures: chosen SVMs, rates, ends."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from threadpoolctl import threadpool_limits

from widestreet import SVC, EnsembleSVC, datasets, regularization_path
from widestreet._experiments.harness.measurement import Measurement
from widestreet._experiments.harness.task import Split
from widestreet._experiments.papers import ensemble_methods
from widestreet._experiments.papers import ensemble_plan as plan


@pytest.fixture(autouse=True)
def _one_thread():
    with threadpool_limits(1):
        yield


@pytest.fixture
def split() -> Split:
    X, y = datasets.twonorm(160, random_state=0)
    y = np.where(np.random.default_rng(1).random(160) < 0.1, -y, y)
    return Split(X[:100], y[:100], X[100:], y[100:])


def one(method, **parameters) -> Measurement:
    chosen = replace(method, parameters=method.parameters | parameters)
    return Measurement("cancer", 100, chosen)


def test_everybody_has_the_same_kernel(split):
    model = EnsembleSVC().fit(split.X, split.y)
    for X in (split.X, sparse.csr_matrix(split.X)):
        assert ensemble_methods.gamma_of(X) == pytest.approx(model._gamma, rel=1e-12)


def test_a_path_is_judged_by_the_test_rows_and_by_the_bound(split):
    found = ensemble_methods.path(split, one(plan.PATH, between=[0.1, 10.0], values=500))
    path = regularization_path(
        split.X, split.y, gamma=ensemble_methods.gamma_of(split.X), C_min=0.1, C_max=10.0
    )
    values = path.breakpoints
    assert found["steps"] == len(values)
    scores, bounds = (
        path.scores(split.X_test, split.y_test, values),
        path.leave_one_out_bounds(values),
    )
    assert found["accuracy"] == pytest.approx(scores.max())
    assert found["C"] == pytest.approx(values[np.argmax(scores)])
    assert found["bound"] == pytest.approx(bounds.min())
    assert found["loo_accuracy"] == pytest.approx(scores[np.argmin(bounds)])


@pytest.mark.parametrize("library", ["scikit-learn", "widestreet"])
def test_folds_choose_a_machine(split, library):
    asked = {"library": library, "grid": [1e-3, 1.0], "folds": 3}
    found = ensemble_methods.cross_validation(split, one(plan.THEIRS, **asked))
    model = SVC(C=found["C"], gamma=ensemble_methods.gamma_of(split.X)).fit(split.X, split.y)
    assert found["C"] == 1.0  # the other one knows the larger class only
    assert found["accuracy"] == pytest.approx(model.score(split.X_test, split.y_test))
    assert found["steps"] == 7
    assert found["processor"] > 0


def test_sparse_rows_are_judged_as_dense_ones(split):
    thin = Split(sparse.csr_matrix(split.X), split.y, sparse.csr_matrix(split.X_test), split.y_test)
    asked = one(plan.SEARCH, grid=[0.5, 4.0])
    first, again = ensemble_methods.grid(split, asked), ensemble_methods.grid(thin, asked)
    for key in ("accuracy", "loo_accuracy", "bound", "C", "loo_C"):
        assert first[key] == pytest.approx(again[key])


def test_large_rates_overshoot_and_small_ones_do_not(split):
    found = ensemble_methods.curves(split, one(plan.CURVES, rates=[0.001, 10.0], steps=30))[
        "curves"
    ]
    fixed = {(c["rate"], c["scale"]): c for c in found if "scale" in c}
    assert len(fixed) == 6
    assert not fixed[0.001, "1"]["ended"]
    assert fixed[0.001, "1"]["steps"] == 30
    assert fixed[10.0, "2m"]["ended"]
    assert fixed[0.001, "2m"]["eta"] == pytest.approx(0.2)
    for curve in found:
        assert np.all(np.diff(curve["objective"]) <= 0)
        assert curve["at"][-1] == curve["steps"]


def test_ends_come_sooner_for_larger_epsilons(split):
    cells = ensemble_methods.endings(split, one(plan.ENDINGS))["cells"]
    steps = [cell["steps"] for cell in cells]
    assert steps == sorted(steps)
    whole = ensemble_methods.ensemble(split, one(plan.LITERAL))
    assert cells[-1]["ensemble"] == pytest.approx(1 - whole["accuracy"])
    assert cells[-1]["steps"] == whole["steps"]
    last = ensemble_methods.ensemble(split, one(plan.LAST))
    assert cells[-1]["last"] == pytest.approx(1 - last["accuracy"])
