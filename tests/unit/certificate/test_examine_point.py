"""The certificate as a sum over parts: its figures do not depend on how the rows are split."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import TOL
from reference.duals import MODELS
from support.fitting import build_dual
from support.rows_in_parts import POINTS, merged, point, problem, size, split
from widestreet import SVC
from widestreet._src.certificate import (
    LocalParts,
    Part,
    examine,
    examine_parts,
    float64_where_needed,
    scores,
)
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.kernels import RBF, Poly
from widestreet._src.problems.goal import Goal
from widestreet._src.rows import as_rows
from widestreet.datasets import checkerboard

pytestmark = pytest.mark.numeric

EPS = np.finfo(np.float64).eps
seeds = st.integers(0, 2**32 - 1)


def assert_equal(one, other):
    """All figures are equal, bit by bit."""
    for field in fields(one):
        assert np.array_equal(getattr(one, field.name), getattr(other, field.name)), field.name


@pytest.mark.parametrize("model", MODELS)
@given(
    seed=seeds,
    weighted=st.booleans(),
    diagonal=st.booleans(),
    parts=st.integers(1, 9),
    kind=st.sampled_from(POINTS),
)
def test_any_split_gives_the_figures_of_all_rows(model, seed, weighted, diagonal, parts, kind):
    rng = np.random.default_rng(seed)
    gram, dual = problem(model, rng, weighted=weighted, diagonal=diagonal)
    beta = point(dual, kind, rng)
    score, owner = scores(gram, beta), rng.integers(parts, size=dual.rows)
    whole = examine(gram, dual, beta, score=score, goal=Goal(10.0))
    assert_equal(merged(gram, dual, beta, owner, score, goal=Goal(10.0)), whole)


@pytest.mark.parametrize("model", MODELS)
@given(seed=seeds, parts=st.integers(1, 5), diagonal=st.booleans())
def test_sparing_float64_changes_no_figure(model, seed, parts, diagonal):
    rng = np.random.default_rng(seed)
    gram, dual = problem(model, rng, n=80, diagonal=diagonal)
    beta = point(dual, "feasible", rng)
    owner = rng.integers(parts, size=dual.rows)
    whole = examine(gram, dual, beta)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(float64_where_needed, "_SCREENING_VALUES", 0)
        patch.setattr(float64_where_needed, "FLOAT64_FRACTION", 2.0)
        found = merged(gram, dual, beta, owner)
    slack = TOL.figures * EPS * size(dual, beta, scores(gram, beta))
    for name in ("primal", "dual", "violation", "infeasibility"):
        assert getattr(found, name) == pytest.approx(getattr(whole, name), abs=slack), name
    assert found.rounding <= whole.rounding
    np.testing.assert_allclose(found.bias, whole.bias, rtol=0, atol=slack)


def test_a_solution_spares_rows_in_every_part(monkeypatch):
    monkeypatch.setattr(float64_where_needed, "_SCREENING_VALUES", 0)
    X, y = checkerboard(3000, random_state=1)
    model = SVC(gamma=2.0, C=10.0, random_state=0).fit(X, y)
    beta = np.zeros((1, 3000))
    beta[0, model.support_] = model.dual_coef_[0]
    dual = build_dual("c_svc", np.where(y == model.classes_[1], 1.0, -1.0), C=10.0)
    gram = Gram(RBF(2.0), as_rows(X, centred=True))
    parts = list(split(gram, dual, beta, np.arange(3000) % 3))
    asked = []

    class Watched(LocalParts):
        def ask(self, question):
            asked.append(getattr(question, "func", question).__name__)
            return super().ask(question)

        def screen(self, limits):
            asked.append("screen")
            return super().screen(limits)

    found = examine_parts(Watched(parts), dual.total, convex=True, goal=Goal(1e-3), compare=True)
    assert found.meets(Goal(1e-3, 0.01))
    assert all(0 < part.scores.exact.sum() < 1000 for part in parts)
    assert asked[:3] == ["extremes", "band", "screen"]
    assert asked.count("screen") <= 4  # the last of which finds nothing
    assert found.violation == examine(gram, dual, beta).violation


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_one_score_that_is_no_number_proves_nothing(value, rng):
    gram, dual = problem("c_svc", rng)
    beta = point(dual, "feasible", rng)
    score = scores(gram, beta)
    score[7] = value
    found = merged(gram, dual, beta, np.arange(dual.rows) % 4, score)
    assert (found.primal, found.dual, found.violation) == (np.inf, -np.inf, np.inf)
    assert not found.meets(Goal(1e3))


def test_one_part_that_disagrees_with_itself_is_enough(monkeypatch, rng):
    gram, dual = problem("c_svc", rng)
    beta = point(dual, "feasible", rng)
    parts = list(split(gram, dual, beta, np.arange(dual.rows) % 4))
    ask = LocalParts(parts)
    assert np.isfinite(examine_parts(ask, dual.total, convex=True, compare=True).rounding)
    monkeypatch.setattr(Part, "disagrees", lambda part, rows: part is parts[2])
    assert examine_parts(ask, dual.total, convex=True, compare=True).rounding == np.inf
    assert np.isfinite(examine_parts(ask, dual.total, convex=True).rounding)


def test_the_rounding_is_bounded_row_by_row_in_every_part(rng):
    """Rows far from the origin with a polynomial kernel: the sharper bound is that of all rows."""
    gram, dual = problem("c_svc", rng, kernel=Poly(1.0, 1.0, 3))
    beta = point(dual, "feasible", rng)
    score, owner = scores(gram, beta), np.arange(dual.rows) % 3
    crude = examine(gram, dual, beta, score=score)
    whole = examine(gram, dual, beta, score=score, goal=Goal(crude.violation))
    assert 0 < whole.rounding < crude.rounding
    assert_equal(merged(gram, dual, beta, owner, score, goal=Goal(crude.violation)), whole)
