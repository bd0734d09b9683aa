"""Straight pieces: rates of the optimum, and the breakpoints at their ends."""

from __future__ import annotations

import numpy as np
import pytest

from conftest import TOL
from support.path_problems import MODELS, ChangingProblem
from widestreet._src.engines.homotopy.bound_motion import BoundMotion, DataRates
from widestreet._src.engines.homotopy.enter_and_exchange import leave
from widestreet._src.engines.homotopy.path_state import FREE, LOWER, UPPER, PathState
from widestreet._src.engines.homotopy.rates_and_breakpoint import StraightPiece

pytestmark = pytest.mark.numeric


def first_piece(model: str, seed: int = 5) -> tuple[np.ndarray, PathState, BoundMotion]:
    """The kernel matrix, an optimum with free variables in every group, and bounds that shrink."""
    problem = ChangingProblem(model, "rbf", seed, n=30)
    problem.C, problem.nu, problem.weight = 10.0, 0.3, np.ones(problem.n)
    state = problem.optimum().state
    assert all(state.free.groups_present(state.groups))
    weight = np.where(np.arange(problem.n) % 3, 1.0, 0.0)
    return problem.K, state, BoundMotion(DataRates.between(state, problem.end(weight)), state)


def piece_of(state: PathState, motion: BoundMotion) -> StraightPiece:
    return StraightPiece(state, motion, motion.rates.total - motion.total)


@pytest.mark.parametrize("model", MODELS)
def test_rates_solve_the_derivative_of_the_conditions(model):
    """By a dense solve of the bordered system."""
    K, state, motion = first_piece(model)
    piece, free = piece_of(state, motion), state.free
    A = (free.group == np.arange(state.groups)[:, None]).astype(float)
    M = np.block(
        [[K[np.ix_(free.rows, free.rows)], A.T], [A, np.zeros((state.groups, state.groups))]]
    )
    moved = K @ state.sum_by_row(motion.beta)
    right = np.concatenate(
        [motion.rates.target[free.variables] - moved[free.rows], motion.rates.total - motion.total]
    )
    wanted = np.linalg.solve(M, right)
    scale = np.abs(wanted).max()
    found = np.concatenate([piece.free, piece.bias])
    np.testing.assert_allclose(found, wanted, rtol=0, atol=TOL.decision * scale)
    score = moved + K[:, free.rows] @ piece.free
    np.testing.assert_allclose(piece.score, score, rtol=0, atol=TOL.decision * scale)
    slopes = piece.slopes()
    assert np.abs(slopes[free.variables]).max() <= TOL.decision * scale


@pytest.mark.parametrize("model", MODELS)
def test_up_to_the_breakpoint_the_conditions_hold_and_there_one_is_tight(model):
    K, state, motion = first_piece(model)
    piece = piece_of(state, motion)
    found = piece.next_breakpoint(np.inf, by_index=False)
    assert found.length > 0
    piece.advance(found.length)
    scale = max(1.0, state.largest_target(), np.abs(state.beta).max())
    tolerance = TOL.decision * scale
    h, movable = state.slack(), state.upper > state.lower
    np.testing.assert_allclose(state.score, K @ state.coef, rtol=0, atol=tolerance)
    assert np.abs(h[state.bound_state == FREE]).max() <= tolerance
    assert h[(state.bound_state == LOWER) & movable].max(initial=-np.inf) <= tolerance
    assert h[(state.bound_state == UPPER) & movable].min(initial=np.inf) >= -tolerance
    assert (state.beta >= state.lower - tolerance).all()
    assert (state.beta <= state.upper + tolerance).all()
    np.testing.assert_allclose(state.sum_by_group(state.beta), state.total, atol=tolerance, rtol=0)
    if found.bound_state == FREE:
        assert abs(h[found.variable]) <= tolerance
    else:
        bound = state.bound(found.bound_state)[found.variable]
        assert state.beta[found.variable] == pytest.approx(bound, abs=tolerance)


def test_a_piece_may_end_before_any_breakpoint():
    _, state, motion = first_piece("eps_svr")
    piece = piece_of(state, motion)
    left = 0.5 * piece.next_breakpoint(np.inf, by_index=False).length
    assert piece.next_breakpoint(left, by_index=False) == (left, -1, FREE)


@pytest.mark.parametrize("model", MODELS)
def test_active_rows_have_the_same_rates(model, rng):
    """The free rows, and some others."""
    _, state, motion = first_piece(model)
    whole = piece_of(state, motion)
    some = rng.permutation(state.rows)[:6]
    state.active = np.union1d(state.free.rows, some)
    piece = piece_of(state, motion)
    scale = max(1.0, np.abs(whole.score).max())
    np.testing.assert_allclose(
        piece.score[state.active], whole.score[state.active], rtol=0, atol=TOL.decision * scale
    )
    assert piece._residual_slope() <= TOL.decision * scale


@pytest.mark.parametrize("model", MODELS)
def test_the_only_free_variable_of_a_group_has_the_rate_of_its_sum(model):
    """Exactly: where the sum stands still, rounding would move the variable out of its box."""
    _, state, motion = first_piece(model)
    free = state.free
    for group in range(state.groups):
        for variable in free.variables[free.group == group][1:].tolist():
            leave(state, variable, UPPER)
    motion.recompute(state)
    rate = np.zeros(state.groups)
    assert StraightPiece(state, motion, rate).free.tolist() == [0.0] * state.groups
    rate = np.arange(1.0, 1.0 + state.groups) / 3
    assert StraightPiece(state, motion, rate).free.tolist() == rate[free.group].tolist()
