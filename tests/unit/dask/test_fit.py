"""Fits on collections: where they run, what they refuse, and how they end."""

from __future__ import annotations

import signal

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

pytest.importorskip("distributed", reason="dask and distributed are not installed")

import widestreet as ws
from support.cluster import keys_of
from support.cluster_fits import CASES, partitions, there  # noqa: F401 - a fixture
from support.devices import PlainDevice, use
from widestreet import dask as wd
from widestreet._src.dask import fit, port, station_set
from widestreet._src.engines.budget import OutOfBudget
from widestreet._src.status import Status

X, Y, _ = CASES["svc"].data()
far = pytest.mark.usefixtures("there")


def fitted(**parameters):
    return wd.SVC(random_state=0, **parameters).fit(partitions(X), partitions(Y))


@far
def test_a_fit_is_limited_in_time(client, monkeypatch):
    """Time is over in the first survey, that of the certificate included."""
    ask, over = station_set.StationSet.ask, []

    def late(self, told, question, each, look):
        if over or question.__name__ == "survey":
            over.append(question)
            raise OutOfBudget(Status.TIME_LIMIT)
        return ask(self, told, question, each, look)

    monkeypatch.setattr(station_set.StationSet, "ask", late)
    with pytest.warns(ConvergenceWarning, match="max_time"):
        model = fitted(max_time=1000.0)
    assert model.certificate_.status == "time_limit"
    assert len(model.support_) > 0
    assert keys_of(client) == []


@far
@pytest.mark.parametrize("on_interrupt", ["raise", "keep"])
def test_an_interrupt_leaves_the_best_model_so_far(client, monkeypatch, on_interrupt):
    """Nobody is asked any more after an interrupt."""
    ask, asked = station_set.collect, []

    def interrupted(client, futures, look, describe, renew=None):
        asked.append(str(futures[0].key))
        if "survey" in asked[-1]:
            for future in futures:
                future.release()
            raise KeyboardInterrupt
        return ask(client, futures, look, describe, renew)

    monkeypatch.setattr(station_set, "collect", interrupted)
    model = wd.SVC(random_state=0, on_interrupt=on_interrupt)
    if on_interrupt == "raise":
        with pytest.warns(ConvergenceWarning), pytest.raises(KeyboardInterrupt):
            model.fit(partitions(X), partitions(Y))
    else:
        with pytest.warns(ConvergenceWarning, match="interrupted"):
            model.fit(partitions(X), partitions(Y))
    assert "survey" in asked[-1]
    assert model.certificate_.status == "interrupted"
    assert model.certificate_.n_rows == 0
    assert len(model.support_) > 0
    assert keys_of(client) == []


@far
def test_an_interrupt_between_questions_ends_them(client, monkeypatch):
    """The engine computes in this process when Ctrl-C is pressed, and the workers may be gone."""
    asked, publish = [], port.DaskPort.publish

    def pressed(self, news):
        publish(self, news)
        if len(news.point):
            monkeypatch.setattr(station_set, "collect", lambda *given: asked.append(given))
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(port.DaskPort, "publish", pressed)
    handler = signal.getsignal(signal.SIGINT)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        model = fitted(on_interrupt="keep")
    assert asked == []
    assert model.certificate_.status == "interrupted"
    assert signal.getsignal(signal.SIGINT) is handler
    assert keys_of(client) == []


@pytest.mark.parametrize("limit", [0, 20_000])
def test_no_time_at_all_is_an_error(client, monkeypatch, limit):
    monkeypatch.setattr(fit, "_FEW_ROWS", limit)
    with pytest.raises(TimeoutError, match="max_time=1e-09 s were over"):
        fitted(max_time=1e-9)
    assert keys_of(client) == []


@pytest.mark.parametrize("limit", [None, 1000.0])
def test_rows_that_are_gathered_are_fitted_in_the_time_that_is_left(client, monkeypatch, limit):
    given = []

    def locally(self, X, y, weight):
        given.append(self.max_time)
        raise ArithmeticError("stop")

    monkeypatch.setattr(wd.SVC, "_fit_locally", locally)
    model = wd.SVC(max_time=limit)
    with pytest.raises(ArithmeticError, match="stop"):
        model.fit(partitions(X), partitions(Y))
    assert model.max_time == limit
    assert given == [None] if limit is None else 0 < given[0] < limit


@far
def test_what_is_wrong_with_all_rows_is_named(client, monkeypatch):
    for parameters, match in (
        ({"warm_start": True}, "warm_start must be False"),
        ({"kernel": "poly", "degree": 900, "gamma": 9.0}, "kernel values of 1e"),
        ({"class_weight": {7: 1.0}}, "class"),
        ({"max_memory": 1000}, r"max_memory=1,000 bytes is too small: a worker with \d+ rows"),
    ):
        with pytest.raises(ValueError, match=match):
            fitted(**parameters)
    with pytest.raises(ValueError, match="1 class"):
        wd.SVC().fit(partitions(X), partitions(0 * Y))
    with pytest.raises(ValueError, match="all samples have zero"):
        wd.SVC().fit(partitions(X), partitions(Y), 0.0)
    with pytest.raises(ValueError, match=r"nu=0\.9"):
        wd.NuSVC(nu=0.9).fit(partitions(X), partitions(np.where(np.arange(len(Y)) < 9, 1, -1)))
    use(monkeypatch, PlainDevice())
    with pytest.raises(ValueError, match="device='cuda' does not serve collections"):
        fitted(device="cuda")
    assert keys_of(client) == []


@far
def test_a_kernel_may_be_a_function(client):
    model = fitted(kernel=lambda a, b: (1.0 + a @ b.T) ** 2, tol=1e-4)
    near = ws.SVC(kernel="poly", degree=2, coef0=1.0, gamma=1.0, tol=1e-4).fit(X, Y)
    assert model.certificate_.status == "optimal"
    assert np.array_equal(model.predict(X), near.predict(X))


@far
def test_text_labels_and_names_of_columns(client):
    import dask.dataframe as dd
    import pandas as pd

    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])])
    names = list(frame.columns)
    frame["label"] = pd.Categorical(np.where(Y > 0, "up", "down"))
    collection = dd.from_pandas(frame, npartitions=3)
    model = wd.SVC(random_state=0).fit(collection[names], collection["label"])
    near = ws.SVC(random_state=0).fit(frame[names], frame["label"])
    assert model.feature_names_in_.tolist() == names
    assert model.classes_.tolist() == near.classes_.tolist()
    assert np.array_equal(model.predict(frame[names]), near.predict(frame[names]))


@far
def test_progress_is_shown(client, capsys):
    fitted(verbose=2)
    assert "round" in "".join(capsys.readouterr())


@far
@pytest.mark.parametrize(
    "wrong",
    [{"decision_function_shape": "ovx"}, {"break_ties": "no"}, {"class_weight": "equal"}],
)
def test_parameters_are_checked_before_any_partition_is_read(client, wrong, monkeypatch):
    monkeypatch.setattr(fit, "gather", None)
    [name] = wrong
    with pytest.raises(ValueError, match=name):
        fitted(**wrong)


@far
def test_what_was_fitted_before_does_not_travel(client, monkeypatch):
    given, gather = [], fit.gather

    def looking(client, partitions, reader, look):
        given.append(vars(reader.estimator).keys())
        return gather(client, partitions, reader, look)

    monkeypatch.setattr(fit, "gather", looking)
    model = fitted()
    model.fit(partitions(X[:, :3]), partitions(Y))
    assert model.n_features_in_ == 3
    assert given[0] == given[1] == ws.SVC().get_params().keys()


@far
def test_callbacks_see_the_rounds_and_are_torn_down(client):
    callback = pytest.importorskip("sklearn.callback", reason="scikit-learn has no callbacks")
    from support.watcher import Watcher

    assert callback
    seen = Watcher()
    model = wd.SVC(random_state=0).set_callbacks(seen).fit(partitions(X), partitions(Y))
    assert [record.round for record in seen.records] == [record.round for record in model.trace_]
    first, _, last = seen.ended
    assert (first, last) == ("setup", "teardown")
