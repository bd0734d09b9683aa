"""Variables that enter and leave the free set, and exchanges of dependent ones."""

from __future__ import annotations

import numpy as np
import pytest

from conftest import TOL
from widestreet._src.engines.homotopy.enter_and_exchange import enter, enter_all, leave
from widestreet._src.engines.homotopy.path_state import FREE, LOWER, UPPER, PathState
from widestreet._src.problems import formulations

pytestmark = pytest.mark.numeric


class Kernel:
    """Kernel values of a given matrix."""

    def __init__(self, K: np.ndarray) -> None:
        self.K = K

    def block(self, I: np.ndarray, J: np.ndarray | None) -> np.ndarray:
        return self.K[I] if J is None else self.K[np.ix_(I, J)]

    def scan(self, J: np.ndarray, coef: np.ndarray) -> np.ndarray:
        return self.K[:, J] @ coef


def state_of(X: np.ndarray, y: np.ndarray, beta: np.ndarray) -> PathState:
    """A linear kernel, C = 1; nonzero variables are inside their boxes."""
    K = X @ X.T
    state = PathState.of(
        Kernel(K), np.diag(K).copy(), formulations.c_svc(y, np.ones(len(y))), beta[None]
    )
    enter_all(state, np.flatnonzero(beta))
    state.refresh()
    return state


@pytest.fixture
def repeated(rng) -> PathState:
    """Six rows, of which the last two repeat the first two; all others are free."""
    X = rng.normal(size=(6, 5))
    X[4:] = X[:2]
    y = np.array([1.0, -1.0, 1.0, -1.0, 1.0, -1.0])
    return state_of(X, y, 0.5 * y * (np.arange(6) < 4))


def test_a_variable_leaves_and_enters_again(repeated):
    before = repeated.beta.copy()
    leave(repeated, 2, UPPER)
    assert repeated.bound_state[2] == UPPER
    assert repeated.beta[2] == 1.0
    assert 2 not in repeated.free.members
    assert enter(repeated, 2) == [2]
    assert repeated.bound_state[2] == FREE
    assert repeated.free.members == [0, 1, 3, 2]
    np.testing.assert_array_equal(np.delete(repeated.beta, 2), np.delete(before, 2))
    assert repeated.counts.exchanges == 0


@pytest.mark.parametrize("variable", [4, 5])
def test_a_repeated_row_is_exchanged(repeated, variable):
    """The variable moves inward until the one that it repeats is at a bound; no score changes."""
    score, sums = repeated.score.copy(), repeated.sum_by_group(repeated.beta)
    repeated.bound_state[5] = UPPER  # whose upper bound is zero
    twin = variable - 4
    assert enter(repeated, variable) == [twin, variable]
    assert repeated.counts.exchanges == 1
    assert repeated.bound_state[variable] == FREE
    assert repeated.bound_state[twin] == (LOWER if twin == 0 else UPPER)
    assert repeated.beta[twin] == 0.0
    np.testing.assert_allclose(repeated.score, score, rtol=0, atol=TOL.twin)
    np.testing.assert_allclose(repeated.sum_by_group(repeated.beta), sums, rtol=0, atol=TOL.twin)


def test_a_dependent_variable_may_pass_through_its_box(repeated):
    """Its box is smaller than the room of the others: it ends at its other bound."""
    repeated.upper[4] = 0.25
    assert enter(repeated, 4) == [4]
    assert repeated.bound_state[4] == UPPER
    assert repeated.beta[4] == 0.25
    assert repeated.beta[0] == pytest.approx(0.25, abs=TOL.twin)
    assert sorted(repeated.free.members) == [0, 1, 2, 3]


def test_many_enter_one_by_one_if_some_depend(rng):
    """As many become free as the kernel has rank for; scores and sums stay."""
    X, y = rng.normal(size=(8, 2)), np.tile([1.0, -1.0], 4)
    beta = 0.5 * y
    state = state_of(X, y, beta)
    assert len(state.free) <= 3  # the rank, and the sum
    np.testing.assert_allclose(state.score, X @ X.T @ beta, rtol=0, atol=TOL.twin * 10)
    assert state.beta.sum() == pytest.approx(0.0, abs=TOL.twin)
    bound = state.bound_state != FREE
    at_bound = (state.beta == state.lower) | (state.beta == state.upper)
    np.testing.assert_array_equal(bound & at_bound, bound)
    assert np.flatnonzero(~bound).tolist() == sorted(state.free.members)
