"""The extremes of F in a working set, and the distance of its rows from violating."""

from __future__ import annotations

import numpy as np
import pytest

from reference import standing
from widestreet import _core
from widestreet._src.problems.dual import Dual


def problem(rng, layers, groups, n=60) -> tuple[Dual, np.ndarray, np.ndarray]:
    """Return variables at their bounds and inside, their coefficients, and scores."""
    lower, upper = -rng.uniform(0.5, 2.0, (layers, n)), rng.uniform(0.5, 2.0, (layers, n))
    group = rng.integers(groups, size=(layers, n)).astype(np.uint8)
    dual = Dual(rng.normal(size=(layers, n)), lower, upper, group, np.zeros(groups))
    kind = rng.integers(3, size=(layers, n))
    return dual, np.choose(kind, [lower, upper, 0.0 * lower]), rng.normal(size=n)


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("groups", [1, 3])
def test_extremes_and_slack_are_those_of_numpy(layers, groups, rng):
    dual, beta, score = problem(rng, layers, groups)
    found = _core.extremes(dual.native(), beta, score)
    for one, expected in zip(found, standing.extremes(dual, groups, beta, score), strict=True):
        assert np.array_equal(one, expected)
    least, most = rng.normal(size=(2, groups))
    expected = standing.slack(dual, beta, score, least, most)
    assert np.array_equal(_core.slack(dual.native(), beta, score, least, most), expected)


def test_only_the_leading_rows_count(rng):
    dual, beta, score = problem(rng, 2, 2)
    few = [a[:, :20] for a in (dual.target, dual.lower, dual.upper, dual.group)]
    arrays = (dual.target, dual.lower, dual.upper, dual.group)
    variables, part = _core.Variables(*arrays, groups=2, rows=20), Dual(*few, np.zeros(2))
    found = _core.extremes(variables, beta, score)
    expected = standing.extremes(part, 2, beta[:, :20], score[:20])
    assert np.array_equal(found, expected)
    bias = rng.normal(size=2)
    expected = standing.slack(part, beta[:, :20], score[:20], bias, bias)
    assert np.array_equal(_core.slack(variables, beta, score, bias, bias), expected)


def test_a_group_without_variables_has_infinite_extremes(rng):
    dual, beta, score = problem(rng, 1, 1)
    variables = _core.Variables(dual.target, dual.lower, dual.upper, dual.group, groups=2)
    highest, lowest = _core.extremes(variables, beta, score)
    assert highest[1] == -np.inf
    assert lowest[1] == np.inf


def test_scores_that_are_no_numbers_are_not_hidden(rng):
    dual, beta, score = problem(rng, 1, 1)
    beta[:], score[3] = 0.0, np.nan
    highest, lowest = _core.extremes(dual.native(), beta, score)
    assert np.isnan([highest[0], lowest[0]]).all()
    slack = _core.slack(dual.native(), beta, score, np.zeros(1), np.zeros(1))
    assert np.isnan(slack).tolist() == [r == 3 for r in range(len(score))]
