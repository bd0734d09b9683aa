"""The command that predicts."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

import widestreet as ws
from conftest import OF_THREE
from support.machines import data
from widestreet.cli import main


@pytest.fixture
def folder(tmp_path):
    X, y = data("svc")
    np.save(tmp_path / "rows.npy", np.column_stack([X, y]))
    np.save(tmp_path / "features.npy", X)
    return tmp_path


def predicted(capsys, folder, model, *given, rows="features.npy"):
    model.save(folder / "m.street")
    assert main(["predict", str(folder / "m.street"), str(folder / rows), *given]) == 0
    lines = list(csv.reader(io.StringIO(capsys.readouterr().out)))
    return lines[0], np.array(lines[1:])


def test_predictions_and_values(folder, capsys):
    X, y = data("svc")
    model = ws.SVC().fit(X, y)
    head, lines = predicted(capsys, folder, model, "--values")
    assert head == ["prediction", "value"]
    np.testing.assert_array_equal(lines[:, 0].astype(int), model.predict(X))
    np.testing.assert_array_equal(lines[:, 1].astype(float), model.decision_function(X))


def test_the_score_is_a_remark(folder, capsys):
    X, y = data("svc")
    model = ws.SVC().fit(X, y)
    model.save(folder / "m.street")
    given = [str(folder / "m.street"), str(folder / "rows.npy"), "--target", "-1"]
    assert main(["predict", *given, "-o", str(folder / "out.csv")]) == 0
    out, err = capsys.readouterr()
    assert out == ""
    assert err == f"score {model.score(X, y):.6g} of 120 rows\n"
    assert (folder / "out.csv").read_text().startswith("prediction\n")


def test_probabilities_and_intervals(folder, capsys):
    X, y = data("svc" + OF_THREE)
    model = ws.CalibratedSVC(ws.SVC()).fit(X, y)
    np.save(folder / "features.npy", X)
    head, lines = predicted(capsys, folder, model, "--probabilities")
    assert head == ["prediction", "probability 0", "probability 1", "probability 2"]
    np.testing.assert_array_equal(lines[:, 1:].astype(float), model.predict_proba(X))
    X, y = data("svr")
    np.save(folder / "features.npy", X)
    model = ws.IntervalSVR(ws.SVR()).fit(X, y)
    head, lines = predicted(capsys, folder, model, "--intervals")
    assert head == ["prediction", "low", "high"]
    np.testing.assert_array_equal(lines[:, 1:].astype(float), model.predict_interval(X))


def test_a_model_of_libsvm_with_fewer_columns(folder, capsys):
    X, y = data("svc")
    wide = np.column_stack([X, np.zeros(len(y))])  # a column that no support vector has
    np.save(folder / "wide.npy", wide)
    model = ws.SVC().fit(wide, y)
    ws.io.to_libsvm(ws.SVC().fit(sparse.csr_matrix(wide), y), folder / "m.model")
    assert main(["predict", str(folder / "m.model"), str(folder / "wide.npy")]) == 0
    lines = capsys.readouterr().out.split()[1:]
    assert [int(line) for line in lines] == model.predict(wide).tolist()


def test_text_of_libsvm_has_a_score(folder, capsys):
    X, y = data("svc")
    dump_svmlight_file(X, y, str(folder / "rows.txt"), zero_based=False)
    model = ws.SVC().fit(X, y)
    model.save(folder / "m.street")
    assert main(["predict", str(folder / "m.street"), str(folder / "rows.txt")]) == 0
    assert f"score {model.score(X, y):.6g} of {len(y)} rows" in capsys.readouterr().err


def test_named_columns(folder, capsys):
    pandas = pytest.importorskip("pandas")
    X, y = data("svc")
    frame = pandas.DataFrame(X, columns=["a", "b", "c"])
    frame[["c", "a", "b"]].assign(more=1.0).to_csv(folder / "rows.csv", index=False)
    model = ws.SVC().fit(frame, y)
    _, lines = predicted(capsys, folder, model, rows="rows.csv")
    np.testing.assert_array_equal(lines[:, 0].astype(int), model.predict(frame))


def test_the_place_of_the_output_is_checked_first(folder, capsys):
    given = ["no.street", "no.npy", "-o", str(folder / "no" / "out.csv")]
    assert main(["predict", *given]) == 2
    assert "there is no directory" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--probabilities", "--intervals"])
def test_what_a_model_does_not_have(folder, capsys, option):
    ws.SVC().fit(*data("svc")).save(folder / "m.street")
    given = [str(folder / "m.street"), str(folder / "features.npy"), option]
    assert main(["predict", *given]) == 2
    assert f"{option}: the model has none" in capsys.readouterr().err
    ws.SVR().fit(*data("svr")).save(folder / "m.street")
    assert main(["predict", *given[:2], "--values"]) == 2
