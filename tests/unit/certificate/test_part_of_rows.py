"""What a part answers: figures of its own rows, in messages that do not grow with them."""

from __future__ import annotations

import pickle
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import TOL
from reference.duals import MODELS
from support.rows_in_parts import POINTS, point, problem, split
from widestreet._src.certificate import Part, float64_where_needed, scores
from widestreet._src.certificate.bounds_despite_rounding import largest_gap, reach
from widestreet._src.certificate.float64_where_needed import Limits

pytestmark = pytest.mark.numeric


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("kind", POINTS)
@pytest.mark.parametrize("diagonal", [False, True])
def test_extremes_are_those_of_the_definition(model, kind, diagonal, rng):
    gram, dual = problem(model, rng, diagonal=diagonal)
    beta = point(dual, kind, rng)
    u = scores(gram, beta)
    F = kinks = dual.target - u
    owner = rng.integers(3, size=dual.rows)
    for k, part in enumerate(split(gram, dual, beta, owner, u)):
        found = part.extremes()
        mine = owner == k
        assert (found.rows, found.pending, found.known) == (mine.sum(), 0, True)
        assert sum(found.norm) == pytest.approx((beta.sum(axis=0) * u)[mine].sum(), rel=TOL.twin)
        linear = (dual.target * beta)[:, mine]
        assert sum(found.linear) == pytest.approx(linear.sum(), rel=TOL.twin, abs=TOL.twin)
        for g in range(dual.groups):
            here = (dual.group == g) & mine
            grow, shrink = F[here & (beta < dual.upper)], F[here & (beta > dual.lower)]
            assert found.high[g] == max(grow, default=-np.inf)
            assert found.low[g] == min(shrink, default=np.inf)
            assert sum(found.beta[g]) == pytest.approx(beta[here].sum(), abs=TOL.twin)
            if not diagonal:
                assert found.least[g] == min(kinks[here], default=np.inf)
                assert found.most[g] == max(kinks[here], default=-np.inf)
                width = (dual.upper - dual.lower)[here].sum()
                assert sum(found.width[g]) == pytest.approx(width, rel=TOL.twin)


QUESTIONS = {
    "band": partial(Part.band, group=0, a=-1.0, z=1.0, most=None),
    "slopes": partial(Part.slopes, group=0, pivots=np.zeros(2)),
    "screen": partial(Part.screen, limits=Limits(np.zeros(1), np.zeros(1))),
    "reach": partial(reach, high=np.zeros(1), low=np.zeros(1), bias=np.zeros(1)),
    "sharpen": Part.sharpen,
    "largest gap": partial(largest_gap, bias=np.zeros(1)),
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_part_that_was_made_again_repeats_its_screenings(name, rng, monkeypatch):
    """Then it gives the same answers, whatever is asked first."""
    monkeypatch.setattr(float64_where_needed, "_SCREENING_VALUES", 0)
    gram, dual = problem("c_svc", rng)
    beta = point(dual, "at bounds", rng) * (rng.random(dual.rows) < 0.3)
    screens = [Limits(np.full(1, -end), np.full(1, end)) for end in (-1.0, 0.0)]
    one, again = Part.whole(gram, dual, beta), Part.whole(gram, dual, beta)
    one.extremes()
    for limits in screens:
        one.screen(limits)
    again.repeat(screens)
    assert pickle.dumps(QUESTIONS[name](again)) == pickle.dumps(QUESTIONS[name](one))
    np.testing.assert_array_equal(again.scores.score, one.scores.score)


def test_answers_do_not_grow_with_the_rows(rng):
    """But for the variables that have a kink in the band."""
    sizes = []
    for n in (40, 4000):
        gram, dual = problem("c_svc", rng, n=n)
        part = Part.whole(gram, dual, point(dual, "feasible", rng))
        answers = part.extremes(), part.band(0, 10.0, 11.0, None)
        sizes.append([len(pickle.dumps(answer)) for answer in answers])
    assert np.abs(np.subtract(*sizes)).max() < 100
    assert max(sizes[1]) < 2000


def test_slopes_are_sums_of_the_best_coefficients(rng):
    gram, dual = problem("eps_svr", rng)
    beta = point(dual, "feasible", rng)
    part = Part.whole(gram, dual, beta, score=scores(gram, beta))
    F, pivots = dual.target - scores(gram, beta), np.linspace(-2, 2, 7)
    wanted = [np.where(b < F, dual.upper, dual.lower).sum() for b in pivots]
    np.testing.assert_allclose(part.slopes(0, pivots), wanted, rtol=TOL.twin, atol=TOL.twin)


@given(st.lists(st.integers(1, 3), min_size=1, max_size=4), st.integers(0, 2**32 - 1))
def test_a_repetition_has_the_count_of_its_last_screening(calls, seed):
    """However the screenings are divided among calls, and if a call comes twice."""
    rng = np.random.default_rng(seed)
    gram, dual = problem("c_svc", rng)
    beta = point(dual, "at bounds", rng) * (rng.random(dual.rows) < 0.3)
    ends = np.sort(rng.uniform(-2.0, 2.0, size=sum(calls)))
    screens = [Limits(np.full(1, -end), np.full(1, end)) for end in ends]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(float64_where_needed, "_SCREENING_VALUES", 0)
        one, other = Part.whole(gram, dual, beta), Part.whole(gram, dual, beta)
        one.extremes()
        expected = [one.screen(limits) for limits in screens]
        assert other.repeat([]) == 0
        for count in np.cumsum(calls):
            assert other.repeat(screens[:count]) == expected[count - 1]
            assert other.repeat(screens[:count]) == expected[count - 1]
        assert [other.repeat(screens[: k + 1]) for k in range(len(screens))] == expected
