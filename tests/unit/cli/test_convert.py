"""The command that writes a model in another format."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import widestreet as ws
from support.machines import data
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
