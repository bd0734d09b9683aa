"""Solvers and tasks are found by listing folders."""

from __future__ import annotations

import pytest

from widestreet._experiments.harness import discovery
from widestreet._experiments.harness.discovery import invited, solvers, tasks


def test_everything_is_found():
    assert {"widestreet", "widestreet-smo", "scikit-learn", "scikit-learn-intelex"} <= {*solvers()}
    assert {"libsvm", "thundersvm", "liquidSVM", "null"} <= {*solvers()}
    assert next(iter(solvers())) == "widestreet"
    assert {"checkerboard", "covtype-2", "covtype-4", "kdd99", "mnist", "kin40k"} <= {*tasks()}


def test_two_strategies_race():
    ours = [n for n in invited() if solvers()[n].package == "widestreet"]
    assert ours == ["widestreet", "widestreet-smo"]


def test_names_are_unique():
    with pytest.raises(ValueError, match="same name"):
        discovery._named([solvers()["null"]] * 2)
