"""SVMs that choose their parameters against scikit-learn's search, in miniature."""

from __future__ import annotations

import numpy as np
import pytest

from widestreet._experiments.studies import tuned


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(tuned, "ROWS", 60)
    monkeypatch.setattr(tuned, "TEST_ROWS", 100)
    monkeypatch.setattr(tuned, "SPLITS", 1)
    monkeypatch.setattr(tuned, "FOLDS", 3)
    monkeypatch.setattr(tuned, "GRID", {"C": np.array([1.0, 10.0]), "gamma": np.array([0.1])})
    monkeypatch.setattr(tuned, "SPIRAL_ROWS", 150)


def first(name, monkeypatch):
    """Let a part of the study have one problem."""
    one = next(iter(getattr(tuned, name)()))
    monkeypatch.setattr(tuned, name, lambda: iter([one]))


@pytest.mark.filterwarnings("ignore:the best")
@pytest.mark.parametrize(
    ("problems", "part", "name"),
    [
        ("_classifications", tuned.classifiers, "breast cancer, "),
        ("_regressions", tuned.regressors, "friedman1, "),
    ],
)
def test_errors_and_times(problems, part, name, monkeypatch):
    first(problems, monkeypatch)
    (line,) = part(1).splitlines()[2:]
    found, size, ours, theirs, _, ratio = (cell.strip() for cell in line.split("|")[1:-1])
    assert found == name.removesuffix(", ")
    assert size.startswith("60 x ")
    assert 0.0 <= float(ours) < 100.0
    assert 0.0 <= float(theirs) < 100.0
    assert ratio.endswith("times")


@pytest.mark.filterwarnings("ignore:the best")
def test_widths_of_ensembles():
    lines = [line.split("|")[1:-1] for line in tuned.widths(1).splitlines()[2:]]
    paper, chosen, svc = (float(line[2]) for line in lines)
    assert chosen < paper
    assert svc < paper
