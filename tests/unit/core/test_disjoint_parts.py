"""Pair steps in disjoint parts of a working set, which several threads take at once."""

from __future__ import annotations

import numpy as np
import pytest

from conftest import TOL
from reference import duals, kkt
from widestreet import _core

pytestmark = pytest.mark.numeric

ROWS, BLOCK = 1100, 700  # two parts; more rows than a block has
ENOUGH = 1 << 20  # steps
VIOLATION = 1e-3
MODELS = ("c_svc", "nu_svc", "eps_svr", "nu_svr")
every_model = pytest.mark.parametrize("model", MODELS)


def problem(model: str, rng: np.random.Generator, linear: bool = False, rows: int = ROWS):
    """A kernel matrix and a dual of two overlapping clouds."""
    y = np.where(np.arange(rows) % 2, 1.0, -1.0)
    X = rng.normal(size=(rows, 2)) + 0.5 * y[:, None]
    square = (X**2).sum(axis=1)
    K = X @ X.T if linear else np.exp(-(square[:, None] + square - 2 * X @ X.T))
    target = X[:, 0] + rng.normal(size=rows) if model.endswith("svr") else y
    qp = duals.build(
        model, K, target, C=2.0, epsilon=0.2, nu=0.4, weight=rng.choice([0.5, 1.0], rows)
    )
    return K, duals.in_beta_space(qp)


def start_of(dual) -> np.ndarray:
    """A feasible point with at most one free variable in each group."""
    end = dual.lower + dual.upper  # zero is the other end of every box
    beta = np.zeros_like(end)
    for g, total in enumerate(dual.totals):
        member = dual.group == g
        after = np.cumsum(np.abs(end[member]))
        part = (abs(total) - (after - np.abs(end[member]))) / np.abs(end[member])
        beta[member] = np.clip(part, 0, 1) * end[member]
    return beta


def solve(
    K, dual, *, threads: int, dtype=np.float64, tol: float = VIOLATION, steps=ENOUGH, scratch=None
):
    """Return beta, scores, violation and steps."""
    rows = len(K)
    tile = np.zeros((rows, rows + -rows % 16), dtype=dtype)[:, :rows]
    tile[:] = K
    beta = start_of(dual)
    score = tile.astype(np.float64) @ beta.sum(axis=0)
    variables = _core.Variables(
        *(np.ascontiguousarray(a, dtype=np.float64) for a in (dual.target, dual.lower, dual.upper)),
        np.ascontiguousarray(dual.group, dtype=np.uint8),
        groups=len(dual.totals),
        rows=rows,
    )
    report = _core.solve(
        tile,
        variables,
        beta,
        score,
        tol=tol,
        max_steps=steps,
        block=BLOCK,
        threads=threads,
        scratch=scratch,
    )
    return beta, score, *report


@every_model
@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])
@pytest.mark.parametrize("linear", [False, True], ids=["rbf", "linear"])
def test_reaches_the_optimum_of_one_thread(model, dtype, linear, rng):
    """In a linear kernel the parts make the same correction, and half of it is too much."""
    K, dual = problem(model, rng, linear)
    K = K.astype(dtype).astype(np.float64)
    values = []
    for threads in (1, 4, 16):
        beta, score, violation, _ = solve(K, dual, threads=threads, dtype=dtype)
        assert violation <= VIOLATION
        assert (beta >= dual.lower).all()
        assert (beta <= dual.upper).all()
        assert kkt.feasibility(dual, beta) <= TOL.feasibility
        scale = max(1.0, np.abs(K).max() * np.abs(beta).sum())
        exact = K @ beta.sum(axis=0)
        np.testing.assert_allclose(score, exact, rtol=0, atol=TOL.twin * scale)
        values.append(kkt.dual_objective(K, dual, beta))
    gap = VIOLATION * float((dual.upper - dual.lower).sum())  # of a point that violates by so much
    assert values == pytest.approx([values[0]] * 3, abs=gap)


@every_model
@pytest.mark.parametrize("linear", [False, True], ids=["rbf", "linear"])
def test_the_objective_never_falls(model, linear, rng):
    K, dual = problem(model, rng, linear)
    start = kkt.dual_objective(K, dual, start_of(dual))
    for steps in (0, 1, 10, 300, 3000):
        beta, _, _, taken = solve(K, dual, threads=4, steps=steps)
        assert taken <= steps
        assert kkt.feasibility(dual, beta) <= TOL.feasibility
        value = kkt.dual_objective(K, dual, beta)
        assert value >= start - TOL.monotone * (abs(start) + 1)


@pytest.mark.parametrize("pair", [(4, 7), (8, 16)])
def test_the_point_depends_on_the_number_of_threads_only(pair, rng):
    """Whichever thread takes a part, and whenever."""
    K, dual = problem("c_svc", rng)
    first = solve(K, dual, threads=pair[0])
    for threads in (*pair, *pair):
        for mine, theirs in zip(first, solve(K, dual, threads=threads), strict=True):
            assert np.array_equal(mine, theirs)


@pytest.mark.parametrize("rows", [ROWS, 2100])  # two parts, and four
def test_the_point_does_not_depend_on_scratch_memory(rows, rng):
    K, dual = problem("c_svc", rng, rows=rows)
    memory = np.empty(4 * rows * rows, dtype=np.uint8)
    first = solve(K, dual, threads=9)
    for scratch in (memory, memory[3:], memory[:1000]):
        for mine, theirs in zip(first, solve(K, dual, threads=9, scratch=scratch), strict=True):
            assert np.array_equal(mine, theirs)


@pytest.mark.parametrize("model", ["c_svc", "eps_svr", "nu_svr"])
def test_few_threads_take_no_steps_in_parts(model, rng):
    """With one or two threads the copies of all parts cost as much as they save."""
    K, dual = problem(model, rng)
    one, two, four = (solve(K, dual, threads=threads) for threads in (1, 2, 4))
    assert np.array_equal(one[0], two[0])
    assert not np.array_equal(one[0], four[0])
