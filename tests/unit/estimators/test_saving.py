"""Estimators as archives: which parameters a file holds, and what it refuses."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import widestreet as ws
from support.fitted_models import fitted
from support.machines import data
from widestreet._src.estimators.registry import ESTIMATORS
from widestreet._src.estimators.saving import parameters_from, parameters_of, snapshot
from widestreet.strategies import ISVM, PRSVM, Auto


@pytest.mark.parametrize(
    "given",
    [
        {"C": np.float64(2.0), "max_iter": np.int64(7), "kernel": np.str_("linear")},
        {"class_weight": {1: 2.0, 0: np.float32(0.5)}},
        {"class_weight": {"b": 2, "a": 3}},
        {"class_weight": "balanced", "max_memory": "2GB"},
        {"strategy": ISVM(sample_size=7)},
        {"strategy": PRSVM(sites=3)},
        {"strategy": Auto()},
        {"strategy": "smo", "gamma": "auto", "tol": 1e-300},
    ],
)
def test_parameters_come_back(given):
    model = ws.SVC(**given)
    assert parameters_from(parameters_of(model), ESTIMATORS) == model.get_params()


def test_a_path_becomes_text():
    assert parameters_of(ws.SVC(scratch=Path("a") / "b"))["scratch"] == str(Path("a") / "b")


def test_a_random_state_goes_on_where_it_was():
    state = np.random.RandomState(3)
    state.standard_normal(3)
    other = parameters_from(parameters_of(ws.SVC(random_state=state)), ESTIMATORS)["random_state"]
    assert np.array_equal(other.standard_normal(5), state.standard_normal(5))


@pytest.mark.parametrize("values", [[1.0, 2], (0.5,), np.array([1.0, 2.0]), np.arange(3)])
def test_values_to_search_come_back_as_a_list(values):
    other = parameters_from(parameters_of(ws.SVCCV(Cs=values)), ESTIMATORS)["Cs"]
    assert other == list(values)


def kernel(A, B):
    return A @ B.T


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"kernel": kernel}, "kernel=.*files hold no code"),
        ({"C": [[1.0]]}, "C=.*only text and numbers"),
        ({"random_state": np.random.default_rng(0)}, "random_state="),
    ],
)
def test_what_a_file_cannot_hold_is_named(given, reason):
    with pytest.raises(TypeError, match=reason):
        parameters_of(ws.SVC(**given))


def test_a_strategy_of_the_user_is_named():
    class Mine(Auto):
        pass

    with pytest.raises(TypeError, match="strategy="):
        parameters_of(ws.SVC(strategy=Mine()))


def test_a_model_with_a_function_is_refused_and_the_file_stays(tmp_path):
    X = np.random.default_rng(0).standard_normal((20, 2))
    model = ws.OneClassSVM(kernel=kernel).fit(X)
    path = tmp_path / "m.street"
    path.write_bytes(b"before")
    with pytest.raises(TypeError, match="files hold no code"):
        model.save(path)
    assert path.read_bytes() == b"before"


def test_other_attributes_and_other_classes_are_refused(tmp_path):
    model = ws.SVC()
    with pytest.raises(NotFittedError):
        model.save(tmp_path / "m")
    other = ws.OneClassSVM().fit(np.eye(3))
    other.remark = "mine"
    with pytest.raises(TypeError, match=r"remark.*delete"):
        other.save(tmp_path / "m")

    class Mine(ws.SVC):
        pass

    with pytest.raises(TypeError, match="Mine is not an estimator of widestreet"):
        snapshot(Mine())


def test_without_the_trace_two_fits_have_one_file(tmp_path):
    _, X, y, _ = fitted("svc/rbf/dense")
    for name in ("one", "other"):
        ws.SVC(random_state=0, n_jobs=1).fit(X, y).save(tmp_path / name, trace=False)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()
    model = ws.load(tmp_path / "one")
    assert list(model.trace_) == []
    assert len(model.trace_.to_frame()) == 0


def test_a_file_is_a_zip_of_json_and_npy(tmp_path):
    fitted("svc/rbf/csr").model.save(tmp_path / "m")
    with zipfile.ZipFile(tmp_path / "m") as members:
        found = members.namelist()
    assert found[0] == "header.json"
    assert found[1:] == sorted(found[1:])
    assert "fitted.support_vectors_/indptr.npy" in found
    assert all(name.endswith(".npy") for name in found[1:])


@pytest.mark.parametrize("name", ["dual_coef_", "intercept_", "support_vectors_"])
def test_a_model_that_could_not_be_read_back_is_not_written(name, tmp_path):
    X, y = data("svc")
    model = ws.SVC().fit(X, y)
    array = getattr(model, name).copy()
    array.flat[0] = np.nan
    setattr(model, name, array)
    with pytest.raises(ValueError, match=f"model: {name} has values that are not finite"):
        model.save(tmp_path / "m.street")
    setattr(model, name, array[:0] if name != "dual_coef_" else array[:, :0])
    model.intercept_ = np.zeros(1)
    if name != "intercept_":
        with pytest.raises(ValueError, match="dual_coef_ has the coefficients of"):
            model.save(tmp_path / "m.street")
    assert not list(tmp_path.iterdir())
