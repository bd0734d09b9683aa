"""The command that writes a model in another format."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import widestreet as ws
from conftest import TOL
from support.machines import data
from support.tables import people
from widestreet.cli import main


def test_there_and_back(tmp_path, capsys):
    pytest.importorskip("skops")
    X, y = data("svc")
    model = ws.SVC(C=3.0).fit(X, y)
    model.save(tmp_path / "a.street")
    files = [str(tmp_path / name) for name in ("a.street", "b.skops", "c.model", "d.street")]
    for source, output in pairwise(files):
        assert main(["convert", source, output, "-C", "3"]) == 0
    assert capsys.readouterr().out.splitlines() == files[1:]
    again = ws.load(tmp_path / "d.street")
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert again.C == 3.0


def test_unknown_endings_are_refused_before_the_model_is_read(tmp_path, capsys):
    assert main(["convert", str(tmp_path / "nothing"), str(tmp_path / "m.xyz")]) == 2
    assert "the ending must be one of" in capsys.readouterr().err


def test_a_pipeline_of_numbers_becomes_onnx(tmp_path):
    pytest.importorskip("skops")
    pytest.importorskip("skl2onnx")
    runtime = pytest.importorskip("onnxruntime")
    frame = people()[["age", "income", "label"]]
    frame.to_csv(tmp_path / "train.csv", index=False)
    source, output = str(tmp_path / "m.skops"), str(tmp_path / "m.onnx")
    fit = ["fit", str(tmp_path / "train.csv"), "--target", "label", "-o", source, "--quiet"]
    assert main(fit) == 0
    assert main(["convert", source, output]) == 0
    session = runtime.InferenceSession(output, providers=["CPUExecutionProvider"])
    label, _ = session.run(None, {"X": frame[["age", "income"]].to_numpy(np.float32)})
    assert set(label) <= {"high", "low"}


def test_columns_of_text_are_inputs_of_onnx(tmp_path):
    pytest.importorskip("skl2onnx")
    io = pytest.importorskip("skops.io")
    runtime = pytest.importorskip("onnxruntime")
    frame = people()[["age", "city", "label"]]
    assert frame["city"].isna().any()
    frame.to_csv(tmp_path / "train.csv", index=False)
    source, output = str(tmp_path / "m.skops"), str(tmp_path / "m.onnx")
    fit = ["fit", str(tmp_path / "train.csv"), "--target", "label", "-o", source, "--quiet"]
    assert main(fit) == 0
    assert main(["convert", source, output]) == 0
    session = runtime.InferenceSession(output, providers=["CPUExecutionProvider"])
    rows = frame[["age", "city"]].where(frame.notna(), np.nan)
    given = {"age": rows[["age"]].to_numpy(np.float32), "city": rows[["city"]].to_numpy(object)}
    _, scores = session.run(None, given)
    model = io.load(source, trusted=ws.trusted_types())
    np.testing.assert_allclose(scores, model.decision_function(rows), atol=TOL.onnx_float32)


def test_probabilities_are_not_exported(tmp_path, capsys):
    pytest.importorskip("onnx")
    ws.CalibratedSVC().fit(*data("svc")).save(tmp_path / "a.street")
    assert main(["convert", str(tmp_path / "a.street"), str(tmp_path / "a.onnx")]) == 2
    assert "fit without --probabilities" in capsys.readouterr().err
    assert not (tmp_path / "a.onnx").exists()
