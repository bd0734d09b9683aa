"""Estimators of a cluster as objects: parameters, copies, predictions, what they refuse."""

from __future__ import annotations

import copy
import inspect
import pickle
import threading

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

pytest.importorskip("dask", reason="dask is not installed")
pytest.importorskip("distributed", reason="distributed is not installed")

import dask
import dask.array as da
import dask.dataframe as dd

import widestreet as ws
from support.cluster import keys_of
from widestreet import dask as wd
from widestreet.datasets import friedman, twonorm

X, Y = twonorm(120, random_state=0)
FAR, LABELS = da.from_array(X, chunks=(50, 10)), da.from_array(Y, chunks=50)


class Stuck:
    """A kernel that cannot be pickled."""

    def __call__(self, one, other):
        return one @ other.T

    def __reduce__(self):
        raise TypeError("stuck")


every = pytest.mark.parametrize("name", wd.__all__)


@every
def test_parameters_are_those_of_the_local_class_and_a_client(name):
    far, near = getattr(wd, name), getattr(ws, name)
    assert list(inspect.signature(far).parameters) == [
        *inspect.signature(near).parameters,
        "client",
    ]
    assert far().get_params() == near().get_params() | {"client": None}
    assert f"widestreet.{name}" in far.__doc__
    assert far.__module__ == "widestreet.dask"


@every
def test_clones_share_the_client_and_copies_have_none(name):
    client = threading.Lock()  # cannot be copied either
    model = getattr(wd, name)(tol=0.01, client=client)
    assert clone(model).client is client
    assert clone(model).tol == 0.01
    for copied in (pickle.loads(pickle.dumps(model)), copy.copy(model), copy.deepcopy(model)):
        assert copied.client is None
        assert copied.tol == 0.01
    assert model.client is client


@every
def test_arrays_are_fitted_and_predicted_here(name):
    y = friedman(120, random_state=0)[1] if name.endswith("SVR") else Y
    far = getattr(wd, name)(random_state=0).fit(X, y)
    near = getattr(ws, name)(random_state=0).fit(X, y)
    assert np.array_equal(far.predict(X), near.predict(X))
    if hasattr(near, "score"):
        assert far.score(X, y) == near.score(X, y)
    if hasattr(near, "decision_function"):
        assert np.array_equal(far.decision_function(X), near.decision_function(X))
    local = far.to_local()
    assert type(local) is getattr(ws, name)
    assert np.array_equal(local.predict(X), near.predict(X))
    assert "client" not in vars(local)


def test_there_is_no_local_model_before_a_fit():
    with pytest.raises(NotFittedError, match="SVC instance is not fitted"):
        wd.SVC().to_local()


def test_small_collections_are_gathered(client):
    far = wd.SVC(random_state=0, client=client).fit(FAR, LABELS)
    near = ws.SVC(random_state=0).fit(X, Y)
    assert np.array_equal(far.decision_function(X), near.decision_function(X))
    assert far.score(FAR, LABELS) == near.score(X, Y)
    assert np.array_equal(far.predict(FAR).compute(), near.predict(X))
    assert keys_of(client) == []


def test_names_of_columns_and_text_labels_survive(client):
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])])
    names = list(frame.columns)
    frame["label"] = np.where(Y > 0, "up", "down")
    far = dd.from_pandas(frame, npartitions=3)
    model = wd.SVC().fit(far[names], far["label"])
    assert model.feature_names_in_.tolist() == names
    assert model.classes_.tolist() == ["down", "up"]
    assert set(model.predict(far[names]).compute()) == {"down", "up"}
    assert model.score(far[names], far["label"]) > 0.9


def test_outliers_are_found_lazily(client):
    model = wd.OneClassSVM(nu=0.2).fit(FAR)
    found = model.score_samples(FAR) - model.decision_function(FAR)
    assert np.allclose(found.compute(), model.offset_)
    assert set(model.predict(FAR).compute()) == {-1, 1}


@pytest.mark.parametrize(
    ("parameters", "arguments", "error", "match"),
    [
        ({"kernel": "precomputed"}, (FAR, LABELS), TypeError, "kernel='precomputed' needs all"),
        ({"kernel": Stuck()}, (FAR, LABELS), TypeError,
         "kernel: .* cannot be sent to the workers"),
        ({"client": "tcp://a:1"}, (FAR, LABELS), TypeError, "client must be"),
        ({}, (FAR, None), ValueError, "y is missing"),
        ({}, (X, LABELS), TypeError, "X is of type ndarray and y is a Dask collection"),
        ({}, (FAR, Y), TypeError, "y is of type ndarray"),
        ({"C": -1.0}, (FAR, LABELS), ValueError, "C must be"),
        ({}, (FAR, LABELS * 0), ValueError, "1 class"),
    ],
)  # fmt: skip
def test_what_is_refused(client, parameters, arguments, error, match):
    model = wd.SVC(**parameters)
    with pytest.raises(error, match=match):
        model.fit(*arguments)
    assert not hasattr(model, "support_")
    assert keys_of(client) == []


def test_a_score_needs_labels(client):
    with pytest.raises(ValueError, match="y is missing"):
        wd.SVC().fit(FAR, LABELS).score(FAR, None)


@pytest.mark.parametrize("far", [FAR, [dask.delayed(X)], dask.delayed(X)])
def test_local_estimators_name_those_of_a_cluster(far):
    model = ws.SVC().fit(X, Y)
    for call in (lambda: ws.SVC().fit(far, Y), lambda: model.predict(far)):
        with pytest.raises(TypeError, match=r"X is a Dask collection, .* widestreet\.dask"):
            call()
    with pytest.raises(TypeError, match="sample_weight is a Dask collection"):
        ws.SVC().fit(X, Y, LABELS)
    with pytest.raises(TypeError, match="y is a Dask collection"):
        ws.SVR().fit(X, LABELS)


def fit_in_a_task():
    return wd.SVC(random_state=0).fit(FAR, LABELS).certificate_.status


def test_a_task_may_fit(client):
    assert client.submit(fit_in_a_task, pure=False).result() == "optimal"
