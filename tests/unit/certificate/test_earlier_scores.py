"""Scores of an earlier examination: bounds, updates and drift at a later point."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import TOL
from reference.duals import MODELS
from support.fitting import build_dual, in_reference_terms
from support.problems import random_feasible
from widestreet._src.certificate import (
    Examined,
    LocalParts,
    Part,
    examine_parts,
    float64_where_needed,
)
from widestreet._src.certificate.earlier_scores import (
    EXACT,
    LAST,
    OLDER,
    ROUGH,
    UNKNOWN,
    Change,
    distance,
    lengths,
)
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.kernels import RBF, Laplacian, Linear, Poly
from widestreet._src.kernels.poll import Poll
from widestreet._src.problems.formulations import c_svc
from widestreet._src.rows import as_rows
from widestreet.datasets import checkerboard

pytestmark = pytest.mark.numeric

KERNELS = [Linear(), RBF(0.5), Laplacian(0.5), Poly(0.5, 1.0, 3)]


@pytest.fixture
def small(monkeypatch):
    """Problems of any size are large enough to be screened."""
    monkeypatch.setattr(float64_where_needed, "_SCREENING_VALUES", 0)
    monkeypatch.setattr(float64_where_needed, "FLOAT64_FRACTION", 2.0)


def examined(version: int, beta: np.ndarray) -> Examined:
    coef = beta.sum(axis=0)
    ids = np.flatnonzero(coef)
    return Examined(version, ids, coef[ids])


class Examiner:
    """Examines points of a problem one after the other, each part with what the last one learnt."""

    def __init__(self, gram, dual, *, forget=False):
        self.gram, self.dual, self.forget = gram, dual, forget
        self.last, self.part, self.drift = None, None, {}
        self.values = 0

    def __call__(self, beta):
        now, poll = examined(0 if self.last is None else self.last.version + 1, beta), Poll()
        part = Part.whole(self.gram, self.dual, beta, poll=poll)
        self.drift = {}
        if self.last is not None and not self.forget:
            ids, values = self.last.change_to(now.ids, now.coef)
            record = self.part.scores.record(self.last)
            part.scores.recall(record, Change(self.last, ids, values))
            self.drift = {self.last.version: distance(self.gram.select(ids), values)}
        self.last, self.part = now, part
        found = examine_parts(self, self.dual.total, convex=True)
        self.values = poll.kernel_values
        return found

    def ask(self, question):
        return LocalParts([self.part]).ask(question)

    def screen(self, limits):
        return [
            self.part.screen(float64_where_needed.Limits(limits.grow, limits.shrink, self.drift))
        ]


def assert_same(found, wanted):
    """Figures are equal up to the bounds on their rounding."""
    size = max(1.0, abs(wanted.primal), abs(wanted.dual))
    assert found.violation == pytest.approx(wanted.violation, abs=found.rounding)
    assert found.primal == pytest.approx(wanted.primal, abs=TOL.exact * size)
    assert found.dual == pytest.approx(wanted.dual, abs=TOL.exact * size)
    np.testing.assert_allclose(found.bias, wanted.bias, rtol=0, atol=found.rounding)


# -- the distance between two points --------------------------------------------------------------


@pytest.mark.parametrize("kernel", KERNELS)
def test_no_score_changes_by_more_than_the_distance(kernel, rng):
    X = rng.normal(size=(80, 3))
    gram, some = Gram(kernel, as_rows(X)), np.arange(0, 80, 3)
    change = rng.normal(size=len(some)) * 10.0 ** rng.uniform(-8, 3, len(some))
    bound = distance(gram.select(some), change) * lengths(gram, None)
    assert (np.abs(gram.scan(None, some, change)) <= bound).all()
    K = gram.block(some, some)
    assert distance(gram.select(some), change) == pytest.approx(
        np.sqrt(change @ K @ change), rel=TOL.twins
    )


def test_changes_that_cancel_have_a_distance_of_rounding_only(rng):
    X = np.repeat(rng.normal(size=(10, 2)), 2, axis=0)
    gram = Gram(RBF(1.0), as_rows(X))
    change = np.tile([1e5, -1e5], 10)
    assert 0 <= distance(gram, change) <= np.sqrt(TOL.twins) * distance(gram, np.abs(change))


def test_a_distance_that_overflows_is_infinite(rng):
    gram = Gram(Linear(), as_rows(rng.normal(size=(4, 2)) * 1e150))
    assert distance(gram, np.full(4, 1e200)) == np.inf
    assert distance(gram.select(np.arange(0)), np.empty(0)) == 0.0


def test_lengths_include_the_added_diagonal(rng):
    X, d = rng.normal(size=(20, 2)), rng.random(20)
    gram = Gram(RBF(1.0), as_rows(X)).select(None, diagonal=d)
    found = lengths(gram, np.array([3, 5]))
    np.testing.assert_allclose(found, np.sqrt(1.0 + d[[3, 5]]), rtol=TOL.lengths)
    assert (found >= np.sqrt(1.0 + d[[3, 5]])).all()


def test_rows_whose_coefficients_differ():
    before = Examined(3, np.array([1, 4, 7]), np.array([1.0, 2.0, 3.0]))
    ids, change = before.change_to(np.array([2, 4, 7]), np.array([5.0, 2.0, 1.0]))
    assert ids.tolist() == [1, 2, 7]
    assert change.tolist() == [-1.0, 5.0, -2.0]


# -- later examinations ---------------------------------------------------------------------------


@pytest.mark.parametrize("model", MODELS)
@given(seed=st.integers(0, 2**32 - 1), step=st.floats(-6, 0), part=st.floats(0, 1))
def test_figures_are_those_from_scratch_however_far_the_point_moves(model, seed, step, part):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(80, 3))
    y = rng.normal(size=80) + X[:, 0]
    dual = build_dual(model, np.sign(y) if model.endswith("svc") else y, C=3.0)
    gram = Gram(RBF(0.5), as_rows(X, centred=True))
    points = [random_feasible(in_reference_terms(dual), rng) for _ in range(2)]
    idle = rng.random(80) < part
    if not dual.total.any():
        for beta in points:
            beta[:, idle] = 0.0
        points = [dual.nearest(beta) for beta in points]
    one, other = points
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(float64_where_needed, "_SCREENING_VALUES", 0)
        patch.setattr(float64_where_needed, "FLOAT64_FRACTION", 2.0)
        later, scratch = Examiner(gram, dual), Examiner(gram, dual, forget=True)
        for portion in (0.0, 10.0**step, 2 * 10.0**step, 0.5):
            beta = (1 - portion) * one + portion * other
            assert_same(later(beta), scratch(beta))


def near_optimum(n=2000, C=10.0):
    """Rows, dual and a point near the optimum, with many rows far from the margin."""
    import widestreet as ws

    X, y = checkerboard(n, random_state=1)
    model = ws.SVC(gamma=2.0, C=C, random_state=0).fit(X, y)
    beta = np.zeros((1, n))
    beta[0, model.support_] = model.dual_coef_[0]
    dual = c_svc(np.where(y == model.classes_[1], 1.0, -1.0), C)
    return Gram(RBF(2.0), as_rows(X, centred=True)), dual, beta


@pytest.mark.usefixtures("small")
def test_a_point_that_moved_a_little_costs_a_little():
    gram, dual, beta = near_optimum()
    examiner, scratch = Examiner(gram, dual), Examiner(gram, dual, forget=True)
    examiner(beta)
    first = examiner.values
    moved = beta.copy()
    free = np.flatnonzero((beta[0] != 0) & (np.abs(beta[0]) < 10.0))[:4]
    moved[0, free] *= 1 - 1e-4
    assert_same(examiner(moved), scratch(moved))
    assert scratch.values > 0.5 * first
    assert examiner.values < 0.1 * first
    states = examiner.part.scores.state
    assert (states == LAST).any()
    assert (states[beta[0] != 0] == EXACT).all()
    assert not (states == UNKNOWN).any()


@pytest.mark.usefixtures("small")
def test_scores_of_older_points_serve_as_well():
    """Rows that two examinations did not score have the bounds of both moves."""
    gram, dual, beta = near_optimum()
    examiner, scratch = Examiner(gram, dual), Examiner(gram, dual, forget=True)
    for k in range(4):
        moved = beta * (1 - 1e-5 * k)  # every coefficient changes
        assert_same(examiner(moved), scratch(moved))
    scores = examiner.part.scores
    assert (scores.state == OLDER).any()
    exact = gram.scan(None, scores.columns, scores.coef)
    assert (np.abs(scores.score - exact) <= scores.bounds() + scores.rounding).all()


@pytest.mark.usefixtures("small")
def test_every_coefficient_may_change_and_rows_are_still_left_alone():
    gram, dual, beta = near_optimum()
    examiner = Examiner(gram, dual)
    examiner(beta)
    first = examiner.values
    examiner(beta * (1 - 1e-6))
    support = np.count_nonzero(beta)
    assert examiner.values < 0.5 * first
    assert examiner.values >= support**2  # support vectors are scored from scratch


@pytest.mark.usefixtures("small")
def test_an_unknown_distance_proves_nothing():
    gram, dual, beta = near_optimum(600)
    examiner = Examiner(gram, dual)
    examiner(beta)
    record = examiner.part.scores.record(examiner.last)
    part = Part.whole(gram, dual, beta)
    part.scores.recall(record, Change(examiner.last, np.arange(0), np.empty(0)))
    first = part.extremes()
    part.screen(float64_where_needed.Limits(first.high, first.low))
    assert np.isin(part.scores.state, (ROUGH, EXACT)).all()


@pytest.mark.usefixtures("small")
def test_updates_end_before_their_rounding_grows_too_large():
    gram, dual, beta = near_optimum(600)
    examiner = Examiner(gram, dual)
    moved = beta.copy()
    free = np.flatnonzero(beta[0])[:2]
    for k in range(20):
        moved[0, free] = beta[0, free] * (1 - 1e-6 * k)
        examiner(moved)
        scores = examiner.part.scores
        assert scores.rounding <= float64_where_needed._LARGEST_ROUNDING * scores.from_scratch
        exact = gram.scan(None, scores.columns, scores.coef)
        off = np.abs(scores.score - exact)[scores.exact]
        assert (off <= 2 * scores.rounding).all()
