"""Fits that start from other models: the same optimum, from anywhere."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import svm
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import widestreet as ws
from conftest import KINDS
from support.machines import any_street, assert_same_function, assert_same_objective, data, machine
from widestreet.online import OnlineSVR


@any_street
@pytest.mark.parametrize("kind", KINDS)
def test_the_optimum_does_not_depend_on_the_start(kind):
    X, y = data(kind)
    cold = machine(kind).fit(X, y)
    theirs = getattr(svm, type(cold).__name__)(gamma=0.5)
    if "nu" in theirs.get_params():
        theirs.set_params(nu=0.3)
    for start in (cold, theirs.fit(X, y), machine(kind, gamma=0.7).fit(X, y)):
        warm = machine(kind).fit(X, y, start=start)
        assert warm.certificate_.status == "optimal"
        assert_same_objective(cold, warm)
        assert_same_function(cold, warm, X)


def test_the_optimum_needs_no_steps():
    X, y = data("svr")
    start = ws.SVR(gamma=0.5, C=10.0, tol=1e-6).fit(X, y)
    warm = ws.SVR(gamma=0.5, C=10.0, strategy="smo").fit(X, y, start=start)
    assert warm.n_iter_ < start.n_iter_


def test_rows_may_come_in_another_order():
    X, y = data("svc")
    start, order = svm.SVC(gamma=0.5).fit(X, y), np.random.default_rng(0).permutation(len(y))
    model = ws.SVC(gamma=0.5).fit(X[order], y[order], start=start)
    assert model.certificate_.status == "optimal"


def test_an_online_estimator_is_a_start():
    X, y = data("svr")
    start = OnlineSVR(gamma=0.5).fit(X, y)
    assert ws.SVR(gamma=0.5).fit(X, y, start=start).certificate_.status == "optimal"


def test_what_is_no_start_is_refused():
    X, y = data("svc")
    model = ws.SVC().fit(X, y)
    before = model.dual_coef_.copy()
    for wrong in (3, ws.SVC(), ws.SVR().fit(X, y), svm.LinearSVC().fit(X, y)):
        with pytest.raises(TypeError, match="start must be a fitted SVC"):
            model.fit(X, y, start=wrong)
    with pytest.raises(ValueError, match=r"start: .*not among the rows"):
        model.fit(X + 1, y, start=model)
    with pytest.raises(ValueError, match="start has 2 classes, but y has 3"):
        model.fit(X, np.arange(len(y)) % 3, start=model)
    assert np.array_equal(model.dual_coef_, before)


def test_rows_on_disk_have_no_start(tmp_path):
    X, y = data("svc")
    start = ws.SVC().fit(X, y)
    rows = np.memmap(tmp_path / "X", dtype=np.float64, mode="w+", shape=(60_000, 3))
    with pytest.raises(ValueError, match="not in memory"):
        ws.SVC(max_memory="1MB").fit(rows, np.arange(60_000) % 2, start=start)
    with pytest.raises(ValueError, match="not in memory"):
        ws.OneClassSVM(max_memory="1MB").fit(rows, start=ws.OneClassSVM().fit(X))


def test_what_is_wrong_with_a_start_is_said():
    X, y = data("svc")
    model, pipeline = ws.SVC(), make_pipeline(StandardScaler(), ws.SVC()).fit(X, y)
    with pytest.raises(TypeError, match=r"start is a pipeline: pass its last step"):
        model.fit(X, y, start=pipeline)
    for kind in (ws.SVC, svm.SVC):
        with pytest.raises(TypeError, match="is not fitted: call its fit first"):
            model.fit(X, y, start=kind())
    with pytest.raises(ValueError, match="start was trained on 3 columns, but X has 2"):
        model.fit(X[:, :2], y, start=pipeline[-1])
    model.fit(pipeline[:-1].transform(X), y, start=pipeline[-1])
    assert model.certificate_.status == "optimal"
