"""The estimators that files can hold, and what skops must be told."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

import widestreet as ws
from support.fitted_models import fitted
from support.fitting import decision
from widestreet import online
from widestreet._src.estimators.registry import ESTIMATORS
from widestreet.datasets import twonorm
from widestreet.model_selection import GridSearchCV
from widestreet.strategies import ISVM


def test_every_public_estimator_is_there():
    public = {
        name
        for home in (ws, online)
        for name in home.__all__
        if name.removesuffix("CV").endswith(("SVC", "SVR", "SVM"))
    }
    assert set(ESTIMATORS) == public


def test_trusted_types_exist():
    for name in ws.trusted_types():
        home, _, kind = name.rpartition(".")
        assert isinstance(getattr(importlib.import_module(home), kind), type)


def test_skops_asks_for_nothing_else():
    skops = pytest.importorskip("skops.io")
    for name in ("svc/rbf/csr", "ensemble/rbf/dense", "online svr/rbf/dense"):
        needed = skops.get_untrusted_types(data=skops.dumps(fitted(name).model))
        assert set(needed) <= set(ws.trusted_types())
    model = ws.SVC(strategy=ISVM(), random_state=np.random.RandomState(0))
    assert skops.loads(skops.dumps(model), trusted=ws.trusted_types()).strategy == ISVM()


def test_a_whole_search_goes_through_skops():
    skops = pytest.importorskip("skops.io")
    X, y = twonorm(100, random_state=0)
    search = GridSearchCV(ws.SVC(n_jobs=1), {"C": [1.0, 10.0]}, cv=3).fit(X, y)
    other = skops.loads(skops.dumps(search), trusted=ws.trusted_types())
    assert other.best_params_ == search.best_params_
    assert np.array_equal(decision(other, X), decision(search, X))
    assert other.score(X, y) == search.score(X, y)
    content = skops.dumps(search.set_params(scoring="accuracy").fit(X, y))
    scorer = set(skops.get_untrusted_types(data=content)) - set(ws.trusted_types())
    assert scorer
    assert all(name.startswith("sklearn.metrics.") for name in scorer)


def test_a_pipeline_with_a_column_transformer_goes_through_skops():
    skops, pandas = pytest.importorskip("skops.io"), pytest.importorskip("pandas")
    from sklearn.compose import make_column_transformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    rng = np.random.default_rng(0)
    frame = pandas.DataFrame({"age": rng.random(80) * 50, "city": rng.choice(["Rome", "Oslo"], 80)})
    label = np.where(frame["age"] + 20 * (frame["city"] == "Oslo") > 35, "yes", "no")
    columns = make_column_transformer((StandardScaler(), ["age"]), (OneHotEncoder(), ["city"]))
    model = make_pipeline(columns, ws.SVC()).fit(frame, label)
    other = skops.loads(skops.dumps(model), trusted=ws.trusted_types())
    assert np.array_equal(decision(other, frame), decision(model, frame))
    assert np.array_equal(other.predict(frame), model.predict(frame))
