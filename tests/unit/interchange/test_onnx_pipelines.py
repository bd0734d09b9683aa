"""Pipelines as ONNX, by converters that skl2onnx calls."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler

import widestreet as ws
from conftest import KINDS, TOL
from support.fitting import decision
from support.machines import any_street, data, machine
from support.tables import people

runtime = pytest.importorskip("onnxruntime")
skl2onnx = pytest.importorskip("skl2onnx")


def run(made, X=None, **columns):
    session = runtime.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, columns or {"X": X})


@any_street
@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_pipeline_decides_as_before(kind, kernel):
    X, y = data(kind)
    model = make_pipeline(StandardScaler(), machine(kind, kernel=kernel, tol=1e-3))
    given = (X,) if kind == "one_class" else (X, y)
    made = ws.io.to_onnx(model.fit(*given))
    found = run(made, X)
    expected = decision(model, X) if hasattr(model, "decision_function") else model.predict(X)
    scale = max(1.0, float(np.abs(expected).max()))
    np.testing.assert_allclose(found[-1], expected, rtol=0, atol=TOL.onnx * scale)
    if hasattr(model, "classes_"):
        assert np.array_equal(found[0], model.predict(X))
    assert len(found) == (1 if "svr" in kind else 2)


def test_inputs_of_float32_are_computed_in_float64():
    X, y = data("svc")
    model = make_pipeline(MinMaxScaler(), ws.SVC()).fit(X, np.where(y > 0, "yes", "no"))
    made = ws.io.to_onnx(model, precision="float32")
    label, scores = run(made, X.astype(np.float32))
    assert label.tolist() == model.predict(X).tolist()
    assert scores.dtype == np.float64
    np.testing.assert_allclose(scores, decision(model, X), atol=TOL.onnx_float32)


@any_street
def test_skl2onnx_itself_with_its_usual_options():
    X, y = data("svc of three")
    model = make_pipeline(StandardScaler(), ws.NuSVC(nu=0.2)).fit(X, y)
    ws.io.register_skl2onnx()
    made = skl2onnx.to_onnx(model, X[:1], options={"zipmap": False}, target_opset=18)
    label, scores = run(made, X)
    assert np.array_equal(label, model.predict(X))
    np.testing.assert_allclose(scores, decision(model, X), atol=TOL.onnx * 10)


def test_imputers_need_float32():
    X, y = data("svc")
    X = np.where(np.arange(X.size).reshape(X.shape) % 7 == 0, np.nan, X).astype(np.float32)
    model = make_pipeline(SimpleImputer(), StandardScaler(), ws.SVC()).fit(X, y)
    with pytest.raises(ValueError, match='precision="float32"'):
        ws.io.to_onnx(model)
    _, scores = run(ws.io.to_onnx(model, precision="float32"), X)
    np.testing.assert_allclose(scores, decision(model, X), atol=TOL.onnx_float32)


@pytest.mark.parametrize("imputer", [False, True])
def test_columns_that_are_selected_by_name_are_inputs(imputer, rng):
    frame = people()
    frame["city"] = rng.choice(["Lima", "Oslo", "Rome"], len(frame))
    numbers = make_pipeline(SimpleImputer(), StandardScaler()) if imputer else StandardScaler()
    columns = make_column_transformer(
        (numbers, ["income", "w"]), (OneHotEncoder(handle_unknown="ignore"), ["city"])
    )
    rows = frame[["income", "city", "w"]]
    model = make_pipeline(columns, ws.SVC()).fit(rows, frame["label"])
    precision, dtype = ("float32", np.float32) if imputer else ("float64", np.float64)
    made = ws.io.to_onnx(model, precision=precision)
    assert [one.name for one in made.graph.input] == ["income", "city", "w"]
    for new in (rows, rows.assign(city="Paris")):
        given = {name: new[[name]].to_numpy().astype(dtype) for name in ("income", "w")}
        label, scores = run(made, **given, city=new[["city"]].to_numpy(dtype=object))
        expected = model.decision_function(new)
        tolerance = (TOL.onnx_float32 if imputer else TOL.onnx) * np.abs(expected).max()
        np.testing.assert_allclose(scores.reshape(expected.shape), expected, rtol=0, atol=tolerance)
        clear = np.abs(expected) > tolerance
        np.testing.assert_array_equal(label[clear], model.predict(new)[clear])


def test_an_imputer_of_text_is_refused():
    frame = people()
    text = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder())
    frame["city"] = np.where(frame["w"] > 0, "Oslo", "Rome")
    model = make_pipeline(make_column_transformer((text, ["city"])), ws.SVC())
    model.fit(frame[["city"]], frame["label"])
    with pytest.raises(ValueError, match="encoders of text without an imputer"):
        ws.io.to_onnx(model)


def test_what_is_missing_is_named(monkeypatch):
    X, y = data("svc")
    model = make_pipeline(StandardScaler(), ws.SVC()).fit(X, y)
    with pytest.raises(TypeError, match="estimator of widestreet"):
        ws.io.to_onnx(make_pipeline(ws.SVC(), StandardScaler()))
    monkeypatch.setitem(sys.modules, "skl2onnx", None)
    with pytest.raises(ImportError, match="pip install skl2onnx"):
        ws.io.to_onnx(model)
