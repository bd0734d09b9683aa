"""The callbacks of scikit-learn 1.9 on our estimators: progress, stops, scores, searches."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from conftest import KINDS, OF_THREE
from support.fitting import as_exact_as_float64, cut_short, decision, limited_by_float64
from support.machines import data, machine
from support.watcher import Watcher

callback = pytest.importorskip("sklearn.callback", reason="scikit-learn has no callbacks")


def many(kind):
    """Enough rows for more than one round."""
    return data(kind, 3000)


def drawn(capsys) -> str:
    return " ".join(capsys.readouterr().out.split())


# -- progress ----------------------------------------------------------------------------------


def test_progress_bar(kind, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    model = machine(kind).set_callbacks(callback.ProgressBar()).fit(*data(kind))
    out = drawn(capsys)
    name = type(model).__name__
    assert f"{name} - fit" in out
    assert "100%" in out
    for pair in ("0 against 1 #0", "0 against 2 #1", "1 against 2 #2"):
        assert (f"{name} - {pair}" in out) == kind.endswith(OF_THREE)


def test_progress_bar_in_a_search(kind, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    X, y = data(kind)
    search = GridSearchCV(machine(kind), {"gamma": [0.1, 1.0]}, cv=2, scoring=lambda *args: 0.0)
    search.set_callbacks(callback.ProgressBar()).fit(X, y)
    out = drawn(capsys)
    name = type(search.best_estimator_).__name__
    assert f"candidate-split-evaluation | {name} - fit #3" in out
    assert f"refit-with-best-params | {name} - fit" in out
    assert search.best_estimator_.certificate_.status == "optimal"


def test_nothing_is_drawn_without_a_callback(kind, capfd):
    machine(kind).fit(*data(kind))
    assert capfd.readouterr() == ("", "")


# -- what is reported --------------------------------------------------------------------------


def test_every_round_is_reported_and_nothing_changes(kind):
    X, y = many(kind)
    seen = Watcher()
    watched = machine(kind, tol=1e-3).set_callbacks(seen).fit(X, y)
    alone = machine(kind, tol=1e-3).fit(X, y)
    np.testing.assert_array_equal(decision(watched, X), decision(alone, X))
    rounds = [(record.round, record.pair_steps) for record in watched.trace_]
    assert [(record.round, record.pair_steps) for record in seen.records] == rounds
    first, fitted, last = seen.ended
    assert (first, last) == ("setup", "teardown")
    np.testing.assert_array_equal(fitted.predict(X), watched.predict(X))


@pytest.mark.parametrize("kind", ["svc" + OF_THREE, "nu_svc" + OF_THREE])
def test_callbacks_see_one_pair_at_a_time(kind):
    X, y = many(kind)
    pairs = []
    seen = Watcher(stop=lambda context, record: pairs.append(context.parent.task_id))
    model = machine(kind, tol=1e-3, n_jobs=2).set_callbacks(seen).fit(X, y)
    assert pairs == [record.problem for record in model.trace_]
    assert pairs == sorted(pairs)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "one_class"])
def test_a_score_can_be_monitored(kind):
    X, y = data(kind)
    monitor = callback.ScoringMonitor(scoring="r2" if kind.endswith("svr") else "accuracy")
    model = machine(kind).set_callbacks(monitor).fit(X, y)
    (row,) = monitor.get_logs().data
    assert model.score(X, y) in row.values()


def test_callbacks_of_a_step_in_a_pipeline(kind):
    X, y = data(kind)
    seen = Watcher()
    model = make_pipeline(StandardScaler(), machine(kind).set_callbacks(seen)).fit(X, y)
    assert len(seen.records) == len(model[-1].trace_)
    assert seen.ended[-1] == "teardown"


# -- stops and failures ------------------------------------------------------------------------


@limited_by_float64
def test_a_stop_gives_a_model_that_predicts(kind):
    """Its status says that it is what was asked for: there is no warning, and no lie either."""
    X, y = many(kind)
    seen = Watcher(stop=lambda context, record: True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = machine(kind).set_callbacks(seen).fit(X, y)
    pairs = len(model.certificates_)
    assert [record.round for record in seen.records] == [1] * pairs
    assert {c.status for c in model.certificates_} == {"approximate"}
    assert model.certificate_.kkt_violation > model.tol
    assert min(c.n_rows for c in model.certificates_) > 0
    assert model.fit_status_ == 0
    assert np.isfinite(decision(model, X)).all()
    if kind != "one_class":
        assert model.score(X, y) > 0.5
    model.set_callbacks().fit(X, y)
    assert as_exact_as_float64(model.certificate_)


@pytest.mark.parametrize("kind", ["svc" + OF_THREE, "nu_svc" + OF_THREE])
def test_a_stop_of_one_pair_leaves_the_others(kind):
    X, y = many(kind)
    seen = Watcher(stop=lambda context, record: context.parent.task_id == 1)
    model = machine(kind, tol=1e-3).set_callbacks(seen).fit(X, y)
    assert [c.status for c in model.certificates_] == ["optimal", "approximate", "optimal"]


def test_a_stopped_fit_goes_on(kind):
    X, y = many(kind)
    model = machine(kind, tol=1e-3, warm_start=True)
    model.set_callbacks(Watcher(stop=lambda context, record: True)).fit(X, y)
    model.set_callbacks().fit(X, y)
    assert model.certificate_.status == "optimal"


def test_errors_tear_down(kind):
    X, y = data(kind)
    seen = Watcher()
    model = machine(kind, kernel=lambda A, B: None).set_callbacks(seen)
    with pytest.raises(TypeError, match="kernel"):
        model.fit(X, y)
    assert seen.ended == ["setup", "teardown"]
    model.set_params(kernel="rbf").fit(X, y)
    assert seen.ended[-1] == "teardown"
    assert len(seen.records) == len(model.trace_)


@pytest.mark.parametrize("error", [RuntimeError("full"), KeyboardInterrupt()])
def test_errors_of_a_callback_come_through(kind, error):
    def fail(context, record):
        raise error

    model = machine(kind, on_interrupt="keep").set_callbacks(Watcher(stop=fail))
    if isinstance(error, KeyboardInterrupt):
        with cut_short():
            assert model.fit(*data(kind)).certificate_.status == "interrupted"
    else:
        with pytest.raises(RuntimeError, match="full"):
            model.fit(*data(kind))
