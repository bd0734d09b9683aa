"""Rows are recognised as those that a model was trained on, and others are not."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn.svm
from scipy import sparse
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline

import widestreet as ws
from conftest import OF_THREE
from support.machines import MACHINES, data, machine
from support.pages import Page
from widestreet._src.model_report.subject import Subject
from widestreet._src.model_report.training_rows import require
from widestreet.online import OnlineSVC

ONES = np.ones(60)


@pytest.mark.parametrize("kind", [*MACHINES, "svc" + OF_THREE])
def test_the_rows_of_the_fit_are_accepted_and_others_are_not(kind):
    X, y = data(kind, 60)
    weight = np.where(np.arange(60) % 4 == 0, 0.0, 1.0 + np.arange(60) % 3)
    given = () if kind == "one_class" else (y,)
    model = machine(kind).fit(X, *given, sample_weight=weight)
    assert model.report(X=X, y=y, sample_weight=weight, max_time=1e-3).html()
    with pytest.raises(ValueError, match="45 had one in the fit"):
        model.report(X=X, y=y)
    for rows in (X[::-1], X + 1e-6):
        with pytest.raises(ValueError, match="are not the support vectors"):
            model.report(X=rows, y=y, sample_weight=weight)
    for rows in (np.arange(50), np.arange(120) % 60):
        with pytest.raises(ValueError, match=f"X has {len(rows)} rows.*trained on 60"):
            model.report(X=X[rows], y=y[rows], sample_weight=weight[rows])


def test_labels_and_weights_of_support_vectors():
    X, y = data("svc", 60)
    model = ws.SVC().fit(X, y)
    with pytest.raises(ValueError, match="y has other labels"):
        model.report(X=X, y=-y)
    weight = ONES.copy()
    weight[model.support_[0]] = 0.0
    with pytest.raises(ValueError, match="zero for support vectors"):
        model.report(X=X, y=y, sample_weight=weight)


def test_weights_above_one_are_seen_and_others_are_stated():
    X, y = data("svc", 60)
    model = ws.SVC(C=0.1).fit(X, y, sample_weight=5.0 * ONES)
    with pytest.raises(ValueError, match="sample_weight="):
        model.report(X=X, y=y)
    page = Page.of(model.report(X=X, y=y, sample_weight=5.0 * ONES).html())
    assert "weights are taken to be one" not in page.text
    small = ws.SVC(C=0.1).fit(X, y, sample_weight=0.5 * ONES)
    assert "weights are taken to be one" in Page.of(small.report(X=X, y=y).html()).text


def test_steps_of_a_pipeline_may_round():
    X, y = data("svc", 60)
    model = make_pipeline(PCA(), ws.SVC()).fit(X, y)
    subject = Subject.of(model)
    rows, code = subject.rows(X), (y > 0).astype(np.int64)
    require(subject, rows * (1 + 1e-14), code, ONES)
    with pytest.raises(ValueError, match="after the steps of the pipeline"):
        require(subject, rows + 1e-3, code, ONES)


def test_sparse_rows():
    X, y = data("svc", 60)
    rows, code = sparse.csr_matrix(X), (y > 0).astype(np.int64)
    subject = Subject.of(ws.SVC().fit(rows, y))
    require(subject, rows, code, ONES)
    require(subject, X, code, ONES)
    with pytest.raises(ValueError, match="are not the support vectors"):
        require(subject, rows[::-1], code, ONES)


def test_models_from_elsewhere(tmp_path):
    X, y = data("svc", 60)
    model = sklearn.svm.SVC().fit(X, y)
    assert ws.ModelReport(model, X=X, y=y).html()
    with pytest.raises(ValueError, match="X has 50 rows"):
        ws.ModelReport(model, X=X[:50], y=y[:50])
    ws.io.to_libsvm(ws.SVC(gamma=0.5, C=10.0).fit(X, y), tmp_path / "a.model")
    with pytest.raises(ValueError, match="a LIBSVM file names the support vectors only"):
        ws.io.from_libsvm(tmp_path / "a.model").report(X=X, y=y)


def test_compact_models():
    X, y = data("svc", 60)
    for kernel in ("rbf", "linear"):
        small = ws.SVC(kernel=kernel).fit(X, y).compact(0.1)
        assert small.report(X=X, y=y).html()
        with pytest.raises(ValueError, match="X has 50 rows"):
            small.report(X=X[:50], y=y[:50])


def test_an_online_estimator_uses_the_rows_that_it_holds():
    X, y = data("svc", 60)
    model = OnlineSVC(gamma=0.5).fit(X, y).forget([3])
    rest = np.delete(np.arange(60), 3)
    assert Page.of(model.report(X=X[rest], y=y[rest]).html()).numbers == (
        Page.of(model.report().html()).numbers
    )
    with pytest.raises(ValueError, match="X has 60 rows"):
        model.report(X=X, y=y)
