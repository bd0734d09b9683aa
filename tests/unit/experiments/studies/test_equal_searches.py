"""Fold scores of both searches, on some rows of each case."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import is_classifier

from widestreet._experiments.studies import equal_searches as module
from widestreet._experiments.studies.equal_searches import CASES, compared, equal

EVERY = [case for cases in CASES for case in cases()]
ROWS = 120


def _some(case):
    """Return a case with some of its rows, of all classes, and the ends of its grid."""
    X, y = case.data
    rows = np.sort(np.random.default_rng(0).permutation(len(y))[:ROWS])
    options = {name: values[rows] for name, values in case.options.items()}
    grid = {name: values[:1] + values[-1:] for name, values in case.grid.items()}
    return replace(case, data=(X[rows], y[rows]), options=options, grid=grid)


@pytest.mark.parametrize("case", EVERY, ids=lambda case: f"{case.name}, {case.special}")
def test_fold_scores_are_equal_up_to_one_row(case):
    apart, _, models = compared(_some(case), 1)
    assert models >= 10
    assert apart <= (1.0 if is_classifier(case.estimator) else module.TOL)


def test_the_table_has_a_line_for_each_case(monkeypatch):
    some = [_some(EVERY[1]), _some(EVERY[-1])]
    monkeypatch.setattr(module, "CASES", [lambda: some])
    first, last = (line.split("|") for line in equal(1).splitlines()[2:])
    assert first[1:4] == [" moons ", " weights ", f" {ROWS} x 2 "]
    assert first[5].endswith("rows ")
    assert last[5].endswith("of R^2 ")
