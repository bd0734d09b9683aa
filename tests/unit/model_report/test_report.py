"""The report of every estimator."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from urllib.parse import urlparse
from urllib.request import url2pathname

import numpy as np
import pytest
import sklearn.svm
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import widestreet as ws
from conftest import OF_THREE
from support.machines import MACHINES, data, machine
from support.pages import Page
from widestreet.model_selection import GridSearchCV
from widestreet.online import OnlineNuSVC, OnlineOneClassSVM, OnlineSVC, OnlineSVR

ALWAYS = {
    "certificate", "warnings", "leave-one-out", "influence", "decisions", "support", "convergence",
    "time",
}  # fmt: skip


on_edge = pytest.mark.filterwarnings("ignore:the best value of")


def sections(page):
    return {one["id"] for one in page.named("section")}


@pytest.mark.parametrize("kind", [*MACHINES, "svc" + OF_THREE])
def test_batch_estimators(kind):
    X, y = data(kind, 60)
    model = machine(kind).fit(X[:40], y[:40])
    page = Page.of(model.report().html())
    assert sections(page) == ALWAYS
    page = Page.of(model.report(X[40:], y[40:], X=X[:40], y=y[:40]).html())
    assert sections(page) == ALWAYS | {"test"}
    assert page.numbers["certificate.kkt_violation"] == model.certificate_.kkt_violation
    assert any(name.startswith("leave_one_out.") for name in page.numbers)


@pytest.mark.parametrize("make", [OnlineSVC, OnlineNuSVC, OnlineSVR, OnlineOneClassSVM])
def test_online_estimators_hold_their_rows(make):
    kind = {OnlineSVR: "svr", OnlineOneClassSVM: "one_class"}.get(make, "svc")
    X, y = data(kind, 40)
    model = make(gamma=0.5)
    model = (model.fit(X) if kind == "one_class" else model.fit(X, y)).forget([3])
    page = Page.of(model.report().html())
    assert sections(page) == ALWAYS
    assert page.numbers["support.rows"] == 39
    assert any(name.startswith("leave_one_out.") for name in page.numbers)


def test_an_online_estimator_with_rows_of_one_class():
    X, y = data("svc", 40)
    model = OnlineSVC().partial_fit(X[y > 0], y[y > 0], classes=[-1, 1])
    assert sections(Page.of(model.report().html())) == ALWAYS


@on_edge
def test_ensembles_searches_and_wrappers():
    X, y = data("svc", 60)
    for model in (
        ws.EnsembleSVC(),
        ws.CalibratedSVC(ws.SVC()),
        ws.SVCCV(Cs=[1.0, 2.0], gammas=[0.1, 0.5]),
        GridSearchCV(make_pipeline(StandardScaler(), ws.SVC()), {"svc__C": [1.0, 2.0]}),
    ):
        page = Page.of(model.fit(X, y).report(X, y, X=X, y=y).html())
        assert sections(page) - {"search"} == ALWAYS | {"test"}
        assert ("search" in sections(page)) == hasattr(model, "cv_results_")
    X, y = data("svr", 60)
    for model in (ws.IntervalSVR(ws.SVR()), ws.SVRCV(Cs=[1.0], gammas=[0.1], epsilons=[0.1])):
        assert sections(Page.of(model.fit(X, y).report(X, y, X=X, y=y).html())) >= ALWAYS


def test_pipelines_and_frames():
    pandas = pytest.importorskip("pandas")
    X, y = data("svc", 60)
    frame = pandas.DataFrame(X, columns=["<a>", "b", "c"])
    model = make_pipeline(StandardScaler().set_output(transform="pandas"), ws.SVC()).fit(frame, y)
    page = Page.of(ws.ModelReport(model, frame, y, X=frame, y=y).html())
    assert page.numbers["test.accuracy"] == model.score(frame, y)
    assert "standardscaler" in page.text


def test_a_model_of_scikit_learn_is_certified_from_its_rows():
    X, y = data("svc", 60)
    model = sklearn.svm.SVC().fit(X, y)
    assert "has no certificate" in Page.of(ws.ModelReport(model).html()).text
    page = Page.of(ws.ModelReport(model, X=X, y=y).html())
    proof = ws.certify(model, X, y)
    assert page.numbers["certificate.kkt_violation"] == proof.kkt_violation


def test_sparse_rows_and_precomputed_kernels():
    from scipy import sparse

    X, y = data("svc", 60)
    rows = sparse.csr_matrix(X)
    page = Page.of(ws.SVC().fit(rows, y).report(rows, y, X=rows, y=y).html())
    assert page.numbers["leave_one_out.accuracy"] > 0.5
    K = X @ X.T
    page = Page.of(ws.SVC(kernel="precomputed").fit(K, y).report(K, y, X=K, y=y).html())
    assert page.numbers["test.rows"] == 60


def test_a_file_and_a_browser(tmp_path, monkeypatch):
    report = ws.SVC().fit(*data("svc", 40)).report()
    report.write_html(tmp_path / "r.html")
    assert (tmp_path / "r.html").read_text(encoding="utf-8") == report.html()
    opened = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    report.open()
    path = Path(url2pathname(urlparse(opened[0]).path))
    assert path.parent == tmp_path
    assert path.read_text(encoding="utf-8") == report.html()
    assert report._repr_html_().startswith("<iframe")
    assert repr(report) == "<ModelReport of SVC: html(), write_html(path), open()>"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"y_test": [1]}, "y_test without X_test"),
        ({"y": [1]}, "y without X"),
        ({"sample_weight": [1]}, "sample_weight without X"),
        ({"X_test": np.zeros((2, 3))}, "y_test is missing"),
        ({"max_time": -1.0}, "max_time"),
        ({"X_test": np.zeros((2, 9)), "y_test": [1, 1]}, "features"),
    ],
)
def test_what_is_refused(given, message):
    model = ws.SVC().fit(*data("svc", 40))
    with pytest.raises(ValueError, match=message):
        model.report(**given)
