"""Encoders of text as ONNX."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import widestreet as ws
from conftest import TOL
from support.tables import people
from widestreet._src.interchange.onnx_text import vectors_of

ENCODERS = {
    "new values": {"handle_unknown": "ignore"},
    "rare values": {"handle_unknown": "infrequent_if_exist", "max_categories": 4},
    "dropped values": {"handle_unknown": "ignore", "drop": "first"},
    "known values": {"handle_unknown": "error"},
}


def table():
    """Two columns of text, one with missing values, one with ten values."""
    frame = people()[["city"]].copy()
    frame["street"] = [f"street {(k * k) % 23 % 10}" for k in range(len(frame))]
    return frame.where(frame.notna(), np.nan)


@pytest.mark.parametrize("encoder", ENCODERS)
def test_vectors_add_up_to_the_encoded_row(encoder):
    rows = table()
    made = OneHotEncoder(sparse_output=False, **ENCODERS[encoder]).fit(rows.to_numpy(object))
    total = np.zeros((len(rows), len(made.get_feature_names_out())))
    for name, (keys, places, vectors) in zip(rows, vectors_of(made), strict=True):
        place = dict(zip(keys, places, strict=True))
        total += vectors[[place[str(value)] for value in rows[name]]]
    np.testing.assert_array_equal(total, made.transform(rows.to_numpy(object)))


def test_a_text_that_reads_as_missing_stays_a_category():
    rows = np.array([["nan"], [np.nan], ["Oslo"]], dtype=object)
    ((keys, places, _),) = vectors_of(OneHotEncoder().fit(rows))
    place = dict(zip(keys, places, strict=True))
    assert sorted(place) == ["", "Oslo", "nan"]
    assert len({*places}) == 3


@pytest.mark.filterwarnings("ignore:Found unknown categories")
@pytest.mark.parametrize("encoder", ENCODERS)
@pytest.mark.parametrize("columns", [["city"], ["city", "street"]])
def test_a_runtime_encodes_missing_rare_and_new_values(columns, encoder):
    runtime = pytest.importorskip("onnxruntime")
    pytest.importorskip("skl2onnx")
    rows, y = table()[columns], people()["label"]
    transformer = make_column_transformer((OneHotEncoder(**ENCODERS[encoder]), columns))
    model = make_pipeline(transformer, ws.SVC()).fit(rows, y)
    made = ws.io.to_onnx(model).SerializeToString()
    session = runtime.InferenceSession(made, providers=["CPUExecutionProvider"])

    def scores(new, missing):
        given = {name: new[[name]].fillna(missing).to_numpy(object) for name in columns}
        return session.run(None, given)[1]

    for missing in (np.nan, ""):
        expected = model.decision_function(rows)
        np.testing.assert_allclose(scores(rows, missing), expected, atol=TOL.onnx * 10)
    new = rows.assign(city="Geneva")
    if ENCODERS[encoder]["handle_unknown"] == "error":
        with pytest.raises(Exception, match="out of data bounds"):
            scores(new, "")
        return
    expected = model.decision_function(new)
    np.testing.assert_allclose(scores(new, ""), expected, atol=TOL.onnx * 10)
