"""Pair steps on a tile: the dual of a working set, against the literal SMO and the QP."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import TOL
from reference import duals, kkt, smo
from reference.duals import MODELS
from reference.qp import solve_qp
from support.problems import random_feasible, toy_model
from widestreet import _core

pytestmark = pytest.mark.numeric

DTYPES = (np.float32, np.float64)
WHOLE = 1 << 20  # a block that holds any set

every_model = pytest.mark.parametrize("model", MODELS)
every_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=lambda t: t.__name__)


class Solved(NamedTuple):
    beta: np.ndarray
    score: np.ndarray
    violation: float
    steps: int


def solve(
    tile,
    dual,
    beta=None,
    *,
    tol: float = TOL.smo_tol,
    max_steps: int = 1 << 20,
    block: int = WHOLE,
    direct: int = 30,
    threads: int = 1,
    room: int = 0,
    beyond: float = 0.0,
    scratch=None,
    rounded=None,
) -> Solved:
    """Run the core from a feasible point; with `room` arrays go on `beyond` the set."""
    n = len(tile)
    beta = smo.feasible_start(dual) if beta is None else np.asarray(beta, dtype=np.float64)
    score = tile.astype(np.float64) @ beta.sum(axis=0)

    def padded(array, dtype):
        longer = np.full((*array.shape[:-1], n + room), 7, dtype=dtype)
        longer[..., :n] = array
        return longer

    bigger = np.full((n + room, n + room), beyond, dtype=tile.dtype)
    bigger[:n, :n] = tile
    beta, score = padded(beta, np.float64), padded(score, np.float64)
    variables = _core.Variables(
        *(padded(a, np.float64) for a in (dual.target, dual.lower, dual.upper)),
        padded(dual.group, np.uint8),
        groups=len(dual.totals),
        rows=n,
    )
    report = _core.solve(
        bigger,
        variables,
        beta,
        score,
        tol=tol,
        max_steps=max_steps,
        block=block,
        threads=threads,
        direct_steps=direct,
        scratch=scratch,
        rounded=rounded,
    )
    assert (beta[:, n:] == 7).all()
    assert (score[n:] == 7).all()
    return Solved(beta[:, :n], score[:n], *report)


def permuted(dual, order):
    """The same problem with its rows in another order."""
    arrays = (a[:, order] for a in (dual.target, dual.lower, dual.upper, dual.group))
    return duals.BetaDual(*arrays, dual.totals)


@cache
def problem(model: str, n: int = 40, C: float = 3.0):
    """K, the dual and its best objective; weights differ, rows are shuffled."""
    rng = np.random.default_rng(7)
    weight = rng.choice([0.1, 0.5, 1.0, 2.0], n)
    _, K, qp = toy_model(model, n, C=C, weight=weight)
    best = -solve_qp(qp.Q, qp.p, qp.A, qp.d, qp.upper).objective
    order = rng.permutation(n)
    return K[np.ix_(order, order)], permuted(duals.in_beta_space(qp), order), best


def check_point(K, dual, solved: Solved) -> None:
    """Constraints hold, and what is reported is what the point is."""
    assert (solved.beta >= dual.lower).all()
    assert (solved.beta <= dual.upper).all()
    assert kkt.feasibility(dual, solved.beta) <= TOL.feasibility
    scale = np.abs(K).max() * np.abs(solved.beta).sum()
    exact = np.asarray(kkt.scores(K, solved.beta), dtype=np.float64)
    np.testing.assert_allclose(solved.score, exact, rtol=0, atol=TOL.twin * max(scale, 1))
    violation = kkt.kkt_violation(K, dual, solved.beta)
    assert solved.violation == pytest.approx(violation, abs=TOL.twin * max(scale, 1))


# -- it reaches the optimum --------------------------------------------------------------------


@every_model
@every_dtype
@pytest.mark.parametrize("block", [WHOLE, 24, 9, 4])
def test_reaches_the_optimum(model, dtype, block):
    """One and two layers, one and two groups; blocks that hold the set and blocks that do not."""
    K, dual, best = problem(model)
    tile = K.astype(dtype)
    solved = solve(tile, dual, block=block)
    assert solved.violation <= TOL.smo_tol
    check_point(tile.astype(np.float64), dual, solved)
    if dtype == np.float32:  # the problem that the rounded tile states
        best = kkt.dual_objective(tile, dual, literal(model).beta)
    value = kkt.dual_objective(tile, dual, solved.beta)
    assert value == pytest.approx(best, rel=TOL.smo_rel)


@cache
def literal(model: str) -> smo.SMOResult:
    """The reference on the tile rounded to float32."""
    K, dual, _ = problem(model)
    return smo.smo(K.astype(np.float32), dual, tol=TOL.smo_tol)


@every_model
def test_takes_about_as_many_steps_as_the_literal_method(model):
    """Second-order selection is what both do; only ties and rounding may differ."""
    K, dual, _ = problem(model)
    steps = smo.smo(K, dual, tol=TOL.smo_tol).steps
    assert solve(K, dual).steps == pytest.approx(steps, rel=TOL.steps_rel)


@pytest.mark.usefixtures("chosen_data")
@every_model
def test_first_steps_are_those_of_the_literal_method(model, rng):
    """On these rows no step of the literal method misses a bound by rounding."""
    K, dual, _ = problem.__wrapped__(model)
    beta = random_feasible(dual, rng)
    for steps in (1, 2, 5):
        mine = solve(K, dual, beta, max_steps=steps)
        theirs = smo.smo(K, dual, beta, tol=TOL.smo_tol, max_steps=steps)
        assert mine.steps == theirs.steps == steps
        scale = np.abs(dual.upper - dual.lower).max()
        np.testing.assert_allclose(mine.beta, theirs.beta, rtol=0, atol=TOL.twin * scale)


@every_model
@pytest.mark.parametrize("block", [WHOLE, 8])
def test_labels_may_be_sorted(model, block):
    """At zero all rows of a class violate alike; a block of one class alone has no pair."""
    _, K, qp = toy_model(model, 40)
    dual = duals.in_beta_space(qp)
    order = np.argsort(dual.lower[0], kind="stable")
    for rows in (order, order[::-1]):
        again = permuted(dual, rows)
        start = None if dual.totals.any() else np.zeros_like(dual.target)
        solved = solve(K[np.ix_(rows, rows)], again, start, block=block)
        assert solved.violation <= TOL.smo_tol
        check_point(K[np.ix_(rows, rows)], again, solved)


@every_model
@pytest.mark.parametrize("room", [0, 13])
def test_rows_with_an_empty_box_stay_and_keep_their_score(model, room, rng):
    """Neither of their variables may move, but the others move their score."""
    weight = np.where(np.arange(40) % 4 == 1, 0.0, 1.0)
    _, K, qp = toy_model(model, 40, weight=weight)
    dual = duals.in_beta_space(qp)
    for block in (WHOLE, 12):
        solved = solve(K, dual, block=block, room=room)
        assert solved.violation <= TOL.smo_tol
        assert not solved.beta[:, weight == 0].any()
        check_point(K, dual, solved)


@pytest.mark.parametrize("block", [WHOLE, 32, 8])
def test_groups_may_be_sorted_too(block):
    """All rows that may grow first in one group, all that may shrink first in the other.

    Every row violates alike, so that a block filled by the violation alone finds no pair.
    """
    y = np.concatenate([np.repeat([-1.0, 1.0], 20), np.repeat([1.0, -1.0], 20)])
    K, w = np.eye(80), np.ones(80)
    dual = duals.in_beta_space(duals.nu_svc(K, y, 0.5, w))
    start = np.where(np.arange(80) < 40, y, 0.0)[None]
    assert kkt.feasibility(dual, start) == 0
    solved = solve(K, dual, start, block=block)
    assert solved.violation <= TOL.smo_tol
    np.testing.assert_allclose(solved.beta, y[None] / 2, rtol=0, atol=TOL.violation)


@every_model
@pytest.mark.parametrize("beyond", [np.nan, np.inf, -np.inf, 1e300])
def test_reads_and_writes_its_own_rows_only(model, beyond):
    """Whatever stands in the arrays beyond the set, and in the rest of its last vector."""
    K, dual, _ = problem(model, 37)
    for block in (WHOLE, 9):
        one = solve(K, dual, block=block, room=13)
        other = solve(K, dual, block=block, room=13, beyond=beyond)
        for mine, theirs in zip(one, other, strict=True):
            assert np.array_equal(mine, theirs)
        assert one.violation <= TOL.smo_tol
        check_point(K, dual, one)


@given(
    seed=st.integers(0, 2**32 - 1), n=st.integers(1, 40), block=st.integers(8, 50),
    model=st.sampled_from(MODELS), power=st.integers(-3, 3),
)  # fmt: skip
def test_any_set_is_solved(seed, n, block, model, power):
    """Equal rows, contradictory labels, one class only, boxes of any size."""
    rng = np.random.default_rng(seed)
    G = np.round(rng.normal(size=(n, 3)), 1)
    G[rng.random(n) < 0.2] = G[0]
    K = np.exp(-0.5 * ((G[:, None] - G[None]) ** 2).sum(axis=2))
    y = rng.normal(size=n) if model.endswith("svr") else rng.choice([-1.0, 1.0], n)
    weight = rng.choice([0.1, 0.5, 1.0], n)
    nu = 0.5
    if model == "nu_svc":
        y[:2] = [-1.0, 1.0][: len(y[:2])]
        nu = min(weight[y > 0].sum(), weight[y < 0].sum()) / max(weight.sum(), 1)
    qp = duals.build(model, K, y, C=10.0**power, epsilon=0.1, nu=nu, weight=weight)
    dual = duals.in_beta_space(qp)
    solved = solve(K, dual, tol=TOL.violation, block=block)
    assert solved.violation <= TOL.violation
    check_point(K, dual, solved)


@every_model
@pytest.mark.parametrize("block", [2, 3, 5, 7])
def test_the_smallest_blocks_hold_a_pair(model, block):
    """However small, a block is made of rows that can trade: the set is solved in the end."""
    for n in (13, 40):
        K, dual, _ = problem(model, n)
        assert solve(K, dual, tol=TOL.violation, block=block).violation <= TOL.violation


# -- how it gets there -------------------------------------------------------------------------


@every_model
@pytest.mark.parametrize("block", [WHOLE, 8])
def test_objective_never_falls_and_constraints_always_hold(model, block):
    K, dual, _ = problem(model)
    beta = smo.feasible_start(dual)
    values = [kkt.dual_objective(K, dual, beta)]
    for steps in [1] * 40 + [7] * 20:
        solved = solve(K, dual, beta, max_steps=steps, block=block)
        check_point(K, dual, solved)
        beta = solved.beta
        values.append(kkt.dual_objective(K, dual, beta))
    assert (np.diff(values) >= -TOL.monotone * np.abs(values[1:])).all()
    assert values[-1] > values[0]


@every_model
@pytest.mark.parametrize("block", [WHOLE, 8])
def test_max_steps(model, block):
    K, dual, _ = problem(model)
    needed = solve(K, dual, block=block).steps
    for allowed in (0, 1, 2, 17, needed - 1):
        solved = solve(K, dual, max_steps=allowed, block=block)
        assert solved.steps == allowed
        assert solved.violation > TOL.smo_tol
    assert solve(K, dual, max_steps=needed, block=block).violation <= TOL.smo_tol


@every_model
def test_at_the_optimum_nothing_moves(model):
    K, dual, _ = problem(model)
    solved = solve(K, dual)
    again = solve(K, dual, solved.beta, tol=TOL.violation)
    assert again.steps == 0
    assert np.array_equal(again.beta, solved.beta)


@every_model
def test_sums_survive_many_steps_in_large_boxes(model):
    K, dual, _ = problem(model, C=1e5)
    for block in (WHOLE, 8):
        solved = solve(K, dual, max_steps=20_000, block=block)
        check_point(K, dual, solved)


def test_contradictory_rows_go_to_their_bounds():
    """Equal rows, opposite labels: a step of no curvature goes all the way."""
    dual = duals.in_beta_space(duals.c_svc(np.ones((2, 2)), [1.0, -1.0], [2.0, 3.0]))
    solved = solve(np.ones((2, 2)), dual)
    assert solved.steps == 1
    np.testing.assert_array_equal(solved.beta, [[2.0, -2.0]])


def test_both_copies_of_a_row_give_way_to_one():
    """A regression row pushed both ways is not optimal, whatever the others do."""
    dual = duals.in_beta_space(duals.eps_svr(np.eye(2), [0.0, 0.0], 1.0, 0.5))
    solved = solve(np.eye(2), dual, [[0.75, 0.0], [-0.75, 0.0]])
    assert solved.violation <= TOL.smo_tol
    np.testing.assert_allclose(solved.beta, 0, rtol=0, atol=TOL.feasibility)


def test_one_class_alone_has_nothing_to_trade():
    dual = duals.in_beta_space(duals.c_svc(np.eye(5), np.ones(5), 2.0))
    solved = solve(np.eye(5), dual)
    assert (solved.violation, solved.steps) == (0.0, 0)
    assert not solved.beta.any()


@every_dtype
def test_threads_change_no_bit(dtype, rng):
    n = 1500
    X, y = rng.normal(size=(n, 2)), rng.choice([-1.0, 1.0], n)
    square = (X**2).sum(axis=1)
    K = np.exp(-(square[:, None] + square - 2 * X @ X.T)).astype(dtype)
    C = np.full(n, 5.0)
    dual = duals.BetaDual(
        y[None], np.where(y > 0, 0, -C)[None], np.where(y > 0, C, 0)[None],
        np.zeros((1, n), np.uint8), np.zeros(1),
    )  # fmt: skip
    for block in (WHOLE, 600):
        one, two = (
            solve(K, dual, max_steps=2000, block=block, threads=threads) for threads in (1, 2)
        )
        for mine, theirs in zip(one, two, strict=True):
            assert np.array_equal(mine, theirs)


@every_model
@every_dtype
def test_memory_that_is_lent_changes_no_bit(model, dtype):
    """Enough for a block, or not; it need not begin where a cache line does."""
    K, dual, _ = problem(model)
    tile = K.astype(dtype)
    without = solve(tile, dual, block=16)
    for size in (0, 100, 100_001):
        lent = np.zeros(size, dtype=np.uint8)[size % 2 :]
        for mine, theirs in zip(without, solve(tile, dual, block=16, scratch=lent), strict=True):
            assert np.array_equal(mine, theirs)


@every_model
@pytest.mark.parametrize("direct", [0, 30])
@pytest.mark.parametrize("block", [WHOLE, 24, 9])
def test_a_rounded_copy_of_the_tile_leads_to_the_same_optimum(model, block, direct):
    """Steps use it where rounding allows; scores and the violation are those of the tile."""
    K, dual, best = problem(model)
    rounded = np.pad(K.astype(np.float32), (0, 24))
    for width in (len(K), len(K) + 24):  # too narrow for vectors in place, or not
        copy = np.ascontiguousarray(rounded[:, :width])
        solved = solve(K, dual, block=block, direct=direct, rounded=copy)
        assert solved.violation <= TOL.smo_tol
        check_point(K, dual, solved)
        value = kkt.dual_objective(K, dual, solved.beta)
        assert value == pytest.approx(best, rel=TOL.smo_rel)


@pytest.mark.parametrize("block", [WHOLE, 30])
def test_steps_in_place_use_the_rounded_copy(block):
    """A copy of another problem leads elsewhere, but never to wrong scores."""
    K, dual, _ = problem(MODELS[0])
    room, tile = -len(K) % 16 + 16, K + 0.5 * np.eye(len(K))
    copy = np.pad(K.astype(np.float32), (0, room))
    found = [
        solve(tile, dual, max_steps=5, block=block, direct=5, rounded=one, room=room)
        for one in (None, np.pad(tile.astype(np.float32), (0, room)), copy)
    ]
    for one in found:
        check_point(tile, dual, one)
    assert found[0].steps == found[1].steps == 5
    if block != WHOLE:  # a set that is one block needs all digits
        assert not np.array_equal(found[1].beta, found[2].beta)


@every_model
@every_dtype
@pytest.mark.parametrize("power", [-4, 0, 4, 8])
def test_rounding_within_blocks_does_no_harm(model, dtype, power):
    """Boxes of any width: steps in float32 are taken back where they lose, or not tried."""
    K, dual, _ = problem(model, C=10.0**power)
    tile = K.astype(dtype)
    beta = smo.feasible_start(dual)
    value = kkt.dual_objective(tile, dual, beta)
    for steps in [3] * 10 + [50] * 10:
        solved = solve(tile, dual, beta, max_steps=steps, block=30, direct=0)
        beta = solved.beta
        check_point(tile.astype(np.float64), dual, solved)
        gained = kkt.dual_objective(tile, dual, beta)
        terms = np.abs(dual.target * beta).sum() + float(abs(kkt.quadratic(tile, beta)))
        assert gained >= value - TOL.monotone * terms
        value = gained


@pytest.mark.parametrize("block", [WHOLE, 1000, 64])
def test_a_call_can_be_stopped_and_leaves_the_point_in_order(block, rng):
    """What is asked between steps may raise: scores and sums hold all the same."""
    n = 1500
    K = np.eye(n) + 0.5
    dual = duals.in_beta_space(duals.eps_svr(K, 100.0 * rng.normal(size=n), 1e3, 0.1))
    tile, room = K.astype(np.float64), -n % 16
    arrays = [
        np.pad(a, ((0, 0), (0, room)))
        for a in (dual.target, dual.lower, dual.upper, dual.group.astype(np.uint8))
    ]
    beta, score = np.zeros((2, n + room)), np.zeros(n + room)

    def stop() -> None:
        raise KeyboardInterrupt

    tile = np.pad(tile, (0, room))
    with pytest.raises(KeyboardInterrupt):
        _core.solve(
            tile,
            _core.Variables(*arrays, groups=1, rows=n),
            beta,
            score,
            tol=0.0,
            max_steps=1 << 20,
            block=block,
            threads=1,
            poll=stop,
        )
    assert beta.any()
    assert kkt.feasibility(dual, beta[:, :n]) <= TOL.feasibility
    scale = np.abs(beta).sum()
    np.testing.assert_allclose(
        score[:n], K @ beta[:, :n].sum(axis=0), rtol=0, atol=TOL.twin * scale
    )
