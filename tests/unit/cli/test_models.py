"""Models in files of all formats."""

from __future__ import annotations

import errno
import sys
from argparse import Namespace

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import widestreet as ws
from support.machines import data
from widestreet.cli.models import check_ending, load_model, save_model


def options(path):
    return Namespace(model=path, C=3.0, nu=0.5, epsilon=0.1)


@pytest.mark.parametrize("ending", [".street", ".skops", ".model"])
def test_estimators_come_back(tmp_path, ending):
    if ending == ".skops":
        pytest.importorskip("skops")
    X, y = data("svc")
    model = ws.SVC(C=3.0).fit(X, y)
    save_model(model, tmp_path / f"m{ending}")
    again = load_model(options(tmp_path / f"m{ending}"))
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert again.C == 3.0


def test_the_content_decides_and_not_the_ending(tmp_path):
    pytest.importorskip("skops")
    X, y = data("svc")
    for ending in (".street", ".skops"):
        save_model(ws.SVC().fit(X, y), tmp_path / f"m{ending}")
        (tmp_path / f"m{ending}").rename(tmp_path / "renamed")
        assert load_model(options(tmp_path / "renamed")).classes_.tolist() == [-1, 1]


def test_pipelines(tmp_path):
    pytest.importorskip("skops")
    X, y = data("svc")
    model = make_pipeline(StandardScaler(), ws.SVC()).fit(X, y)
    save_model(model, tmp_path / "m.skops")
    again = load_model(options(tmp_path / "m.skops"))
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    for ending in (".street", ".model"):
        with pytest.raises(ValueError, match="is a pipeline"):
            save_model(model, tmp_path / f"m{ending}")


def test_onnx(tmp_path):
    pytest.importorskip("onnx")
    save_model(ws.SVC().fit(*data("svc")), tmp_path / "m.onnx")
    assert (tmp_path / "m.onnx").stat().st_size > 0


def test_what_is_refused(tmp_path, monkeypatch):
    with pytest.raises(ValueError, match=r"\.street"):
        check_ending(tmp_path / "m.pkl")
    with pytest.raises(FileNotFoundError):
        load_model(options(tmp_path / "nothing"))
    monkeypatch.setitem(sys.modules, "skops.io", None)
    with pytest.raises(ValueError, match=r"widestreet\[cli\]"):
        save_model(ws.SVC(), tmp_path / "m.skops")


@pytest.mark.parametrize("ending", [".skops", ".onnx"])
def test_a_file_is_the_old_one_until_the_new_one_is_complete(ending, tmp_path, monkeypatch):
    pytest.importorskip({".skops": "skops", ".onnx": "onnx"}[ending])
    path = tmp_path / f"m{ending}"
    path.write_bytes(b"old")

    def full(descriptor):
        raise OSError(errno.ENOSPC, "no space")

    model = ws.SVC().fit([[0.0], [1.0]], [0, 1])
    monkeypatch.setattr("widestreet._src.persistence.storage.sync", full)
    with pytest.raises(OSError, match="no space"):
        save_model(model, path)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]
    monkeypatch.undo()
    save_model(model, path)
    assert path.read_bytes() != b"old"
    assert list(tmp_path.iterdir()) == [path]
