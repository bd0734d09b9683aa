"""The command that says what a model is."""

from __future__ import annotations

import json

import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import widestreet as ws
from support.machines import data
from widestreet.cli import main
from widestreet.cli.inspect import describe


def test_the_facts_are_those_of_the_model():
    model = ws.SVC(C=3.0, gamma=0.5).fit(*data("svc"))
    found = describe(model)
    assert found["parameters"] == {"C": 3.0, "gamma": 0.5}
    assert found["support vectors"] == len(model.support_)
    assert found["classes"] == {"-1": model.n_support_[0], "1": model.n_support_[1]}
    assert found["certificate"] == [str(model.certificate_)]


def test_text_json_and_code(tmp_path, capsys):
    model = ws.SVC(C=3.0).fit(*data("svc"))
    model.save(tmp_path / "m.street")
    assert main(["inspect", str(tmp_path / "m.street")]) == 0
    assert "optimal: 120 rows examined" in capsys.readouterr().out
    assert main(["inspect", str(tmp_path / "m.street"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(json.dumps(describe(model)))
    assert main(["inspect", str(tmp_path / "m.street"), "--python"]) == 0
    assert capsys.readouterr().out == "from widestreet import SVC\n\nmodel = SVC(C=3.0)\n"


@pytest.mark.parametrize(
    ("kind", "model"),
    [("svr", ws.SVR()), ("one_class", ws.OneClassSVM()), ("svc", ws.CalibratedSVC(ws.SVC()))],
)
def test_other_models(kind, model):
    X, y = data(kind)
    found = describe(model.fit(X, y))
    assert found["training rows"] == 120
    assert ("classes" in found) == (kind == "svc")


def test_a_pipeline_has_steps():
    model = make_pipeline(StandardScaler(), ws.SVC()).fit(*data("svc"))
    assert describe(model)["steps"] == ["StandardScaler"]


def test_no_model(tmp_path, capsys):
    assert main(["inspect", str(tmp_path / "nothing.street")]) == 2
    assert "there is no file" in capsys.readouterr().err
