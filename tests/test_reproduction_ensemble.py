"""The ensemble's paper: splits, chosen machines, rates and the numbers that were printed."""

from __future__ import annotations

from dataclasses import replace
from statistics import fmean

import numpy as np
import pytest
from scipy import sparse
from threadpoolctl import threadpool_limits

from widestreet import SVC, EnsembleSVC, datasets, regularization_path
from widestreet.benchmarks import files
from widestreet.benchmarks.task import Split
from widestreet.reproductions import ensemble, pools, tuning
from widestreet.reproductions import ensemble_numbers as numbers
from widestreet.reproductions import ensemble_plan as plan
from widestreet.reproductions.measurement import Measurement
from widestreet.reproductions.paper import Findings


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


# -- data ------------------------------------------------------------------------------------------


def test_rows_are_dealt_out_anew(split):
    first, again, other = (pools.redrawn(split, seed) for seed in (3, 3, 4))
    assert np.array_equal(first.X, again.X)
    assert not np.array_equal(first.X, other.X)
    assert (len(first.y), len(first.y_test)) == (100, 60)
    both = np.concatenate([first.X, first.X_test])
    assert np.array_equal(np.sort(both[:, 0]), np.sort([*split.X[:, 0], *split.X_test[:, 0]]))


def test_what_a_part_leaves_of_a_whole():
    dense = np.array([[1, 0], [0, 2], [1, 0], [3, 3], [0, 2], [0, 0]], dtype=float)
    X, y = sparse.csr_matrix(dense), np.array([1, 1, -1, 1, 1, -1])
    assert pools.remainder((X, y), (X[[2, 4]], y[[2, 4]])).tolist() == [0, 1, 3, 5]
    assert pools.remainder((X, y), (X[[1]], y[[1]])).tolist() == [0, 2, 3, 4, 5]
    with pytest.raises(ValueError, match="another order"):
        pools.remainder((X, y), (X[[3, 0]], y[[3, 0]]))


def test_sets_are_read(tmp_path, monkeypatch):
    monkeypatch.setenv(files.DIRECTORY, str(tmp_path))
    X, y = np.arange(20.0).reshape(10, 2), np.repeat([1, -1], 5)
    np.savez(tmp_path / "whole.npz", X=X, y=y[:, None])
    np.savez(tmp_path / "parts.npz", X_tr=X[:6], T_tr=y[:6, None], X_tst=X[6:], T_tst=y[6:, None])
    for name in ("whole.npz", "parts.npz"):
        found = pools.patterns(name)
        assert np.array_equal(found[0], X)
        assert np.array_equal(found[1], y)
    split = pools.realization("whole.npz", 3, 5)
    assert (len(split.y), len(split.y_test)) == (5, 3)


# -- measurements ----------------------------------------------------------------------------------


def test_everybody_has_the_same_kernel(split):
    model = EnsembleSVC().fit(split.X, split.y)
    for X in (split.X, sparse.csr_matrix(split.X)):
        assert tuning.gamma_of(X) == pytest.approx(model._gamma, rel=1e-12)


def test_a_path_is_judged_by_the_test_rows_and_by_the_bound(split):
    found = tuning.path(split, one(plan.PATH, between=[0.1, 10.0], values=500))
    path = regularization_path(
        split.X, split.y, gamma=tuning.gamma_of(split.X), C_min=0.1, C_max=10.0
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
    found = tuning.cross_validation(split, one(plan.THEIRS, **asked))
    model = SVC(C=found["C"], gamma=tuning.gamma_of(split.X)).fit(split.X, split.y)
    assert found["C"] == 1.0  # the other one knows the larger class only
    assert found["accuracy"] == pytest.approx(model.score(split.X_test, split.y_test))
    assert found["steps"] == 7
    assert found["processor"] > 0


def test_sparse_rows_are_judged_as_dense_ones(split):
    thin = Split(sparse.csr_matrix(split.X), split.y, sparse.csr_matrix(split.X_test), split.y_test)
    asked = one(plan.SEARCH, grid=[0.5, 4.0])
    first, again = tuning.grid(split, asked), tuning.grid(thin, asked)
    for key in ("accuracy", "loo_accuracy", "bound", "C", "loo_C"):
        assert first[key] == pytest.approx(again[key])


def test_large_rates_overshoot_and_small_ones_do_not(split):
    found = tuning.curves(split, one(plan.CURVES, rates=[0.001, 10.0], steps=30))["curves"]
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
    cells = tuning.endings(split, one(plan.ENDINGS))["cells"]
    steps = [cell["steps"] for cell in cells]
    assert steps == sorted(steps)
    whole = tuning.ensemble(split, one(plan.LITERAL))
    assert cells[-1]["ensemble"] == pytest.approx(1 - whole["accuracy"])
    assert cells[-1]["steps"] == whole["steps"]
    last = tuning.ensemble(split, one(plan.LAST))
    assert cells[-1]["last"] == pytest.approx(1 - last["accuracy"])


# -- what is said ----------------------------------------------------------------------------------


def test_the_printed_table():
    """Every line is compared once, and the distance is that of the two columns."""
    assert {plan.SETS[name].printed for name in plan.COMPARED} == set(plan.PRINTED)
    assert len(plan.COMPARED) == len(plan.PRINTED)
    assert {len(line) for line in plan.PRINTED.values()} == {len(plan.COLUMNS)}
    assert plan.printed_distance(["cancer"]) == pytest.approx(28.2 - 23.1)
    every = [line[4] - line[0] for line in plan.PRINTED.values()]
    assert plan.printed_distance(plan.COMPARED) == pytest.approx(fmean(every))


def record(problem, method, seed, **found):
    known = {"problem": problem, "method": {"name": method.name}, "seed": seed, "status": "answer"}
    return known | found


def test_distances_are_those_of_the_same_splits():
    records = [
        record("cancer", plan.LITERAL, 0, accuracy=0.7, processor=2.0),
        record("cancer", plan.LITERAL, 1, accuracy=0.6, processor=2.0),
        record("cancer", plan.PATH, 1, accuracy=0.8, loo_accuracy=0.7, processor=6.0),
        record("cancer", plan.DEFAULT, 1, accuracy=0.9, processor=3.0),
    ]
    findings = Findings([], records)
    assert numbers.distance(findings, "cancer", "ensemble", "best") == pytest.approx(20)
    assert numbers.distance(findings, "cancer", "default", "best") == pytest.approx(-10)
    assert numbers.distance(findings, "cancer", "default", "folds") is None
    assert numbers.times(findings, "cancer", plan.PATH.name) == pytest.approx(2)
    table = ensemble.distances(findings)
    assert [line[0] for line in table.lines] == ["cancer", "mean of 1"]
    assert table.lines[0][1:3] == table.lines[1][1:3] == ["+5.10", "+20.00"]
