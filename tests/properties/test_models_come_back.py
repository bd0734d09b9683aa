"""Every model comes back from every kind of file, and decides as before, bit for bit."""

from __future__ import annotations

import io
import pickle
from copy import copy, deepcopy

import numpy as np
import pytest

import widestreet as ws
from support.fitted_models import fitted, names, online_names
from support.fitting import decision
from widestreet._src.persistence import storage


@pytest.fixture(autouse=True)
def _not_durable(monkeypatch):
    """Do not wait for the disk, which is not what is tested here."""
    monkeypatch.setattr(storage, "sync", lambda descriptor: None)
    monkeypatch.setattr(storage, "sync_directory", lambda path: None)


def by_street(model, folder):
    """Save and load; what is loaded has the same file."""
    one, other = folder / "one.street", folder / "other.street"
    model.save(one)
    found = ws.load(one)
    found.save(other)
    assert one.read_bytes() == other.read_bytes()
    return found


def by_pickle(model, folder):
    return pickle.loads(pickle.dumps(model))


def by_joblib(model, folder):
    joblib = pytest.importorskip("joblib")
    stream = io.BytesIO()
    joblib.dump(model, stream)
    stream.seek(0)
    return joblib.load(stream)


def by_skops(model, folder):
    skops = pytest.importorskip("skops.io")
    return skops.loads(skops.dumps(model), trusted=ws.trusted_types())


WAYS = {
    "street": by_street,
    "pickle": by_pickle,
    "joblib": by_joblib,
    "skops": by_skops,
    "copy": lambda model, folder: copy(model),
    "deepcopy": lambda model, folder: deepcopy(model),
}


def table(model):
    return model.trace_.to_frame().sort_index(axis=1)


def test_there_are_sixty_models():
    assert len(names()) >= 60


@pytest.mark.parametrize("way", WAYS)
def test_a_model_decides_as_before(way, tmp_path):
    for name in names() + online_names():
        model, X, _, new = fitted(name)
        other = WAYS[way](model, tmp_path)
        assert type(other) is type(model), name
        assert other.get_params() == model.get_params(), name
        for rows in (X, new):
            assert np.array_equal(decision(other, rows), decision(model, rows)), name
            assert np.array_equal(other.predict(rows), model.predict(rows)), name
        assert vars(other).keys() == vars(model).keys(), name
        assert table(other).equals(table(model)), name
        if not name.startswith("online"):  # they compute their certificates anew
            assert repr(other.certificates_) == repr(model.certificates_), name


def test_a_model_goes_on_after_it_came_back(tmp_path):
    for name in online_names():
        model, X, y, new = fitted(name)
        for way in (by_street, by_pickle):
            one, other = deepcopy(model), way(model, tmp_path)
            for machine in (one, other):
                machine.forget(machine.ids_[:5])
                given = {} if "one_class" in name else {"y": y[:3]}
                machine.partial_fit(X[:3] * 1.5, **given)
            np.testing.assert_allclose(decision(other, new), decision(one, new), atol=1e-9)
            assert other.verify().status == "optimal"
