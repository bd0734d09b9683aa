"""Steps of a working set on a device: the dual rises, sums and bounds hold, scores are K c."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from conftest import TOL
from support.devices import device_of, values
from widestreet._src.device.contract import Look, Map, Variables
from widestreet._src.engines.working_set.block_on_host import solve_block
from widestreet._src.kernels.poll import Poll

ROWS = 24


def variables(y: np.ndarray, tube: float) -> Variables:
    """Return variables at zero: of a classifier, or of a regression with a tube."""
    nothing, box = np.zeros(len(y)), np.full(len(y), 2.0)
    if tube:
        return Variables(nothing, nothing, y - tube / 2, np.full(len(y), tube), -box, box)
    lower, upper = np.where(y > 0, 0.0, -box), np.where(y > 0, box, 0.0)
    return Variables(nothing, nothing, y, nothing, lower, upper)


class Problem:
    """A working set of some rows that a device holds, with its kernel matrix."""

    def __init__(self, rng: np.random.Generator, by: Map, tube: float, double: bool = True) -> None:
        X = rng.normal(size=(ROWS + 9, 3))
        rows = rng.permutation(len(X))[:ROWS]
        y = X[rows, 0] + 0.5 * rng.normal(size=ROWS)
        self.variables = variables(y if tube else np.where(y > 0, 1.0, -1.0), tube)
        self.K = values(by, X[rows] * by.factor, X[rows] * by.factor)
        device = device_of("triton")
        self.work = device.work(
            by, device.hold(X, None, by), rows, self.variables, 1e-4, double=double
        )

    def steps(self, tol: float, most: int, size: int = 64, chance: float = 1.0) -> Look:
        """Take pair steps in a block."""
        block = self.work.draw(size, chance, chance)
        at, coef, taken = solve_block(block, tol, most, None, Poll())
        assert taken <= most
        return self.work.move(at, coef)

    def checked(self, error: float = TOL.twin) -> float:
        """Return the dual objective of a point that is feasible and has the right scores."""
        c, score = self.work.result()
        v, size = self.variables, max(1.0, np.abs(c).sum())
        assert ((v.lower <= c) & (c <= v.upper)).all()
        assert abs(c.sum()) <= TOL.twin * size
        np.testing.assert_allclose(score, self.K @ c, rtol=0, atol=error * size)
        tubes = (v.tube * np.minimum(c, 0.0)).sum()
        return float(v.target @ c + tubes - 0.5 * c @ self.K @ c)


@pytest.mark.parametrize("tube", [0.0, 0.4])
def test_steps_raise_the_dual(tube, rng):
    problem = Problem(rng, Map("rbf", 0.7), tube)
    work, first = problem.work, problem.work.look()
    look = work.pairs(32, (0.5, 0.5), 1e-4, 0.1, 6, blocks=2)
    assert 0 < look.steps <= 12
    before = problem.checked()
    assert before > 0.0
    problem.steps(1e-4, 6, 16, 0.5)
    after = problem.checked()
    assert after > before
    before = after
    work.pairs(64, (1.0, 1.0), 1e-4, 0.0, 25)
    after = problem.checked()
    assert after > before
    look = work.newton(0.03, 8)
    assert problem.checked() >= after - TOL.twin
    assert look.violation < 0.5 * first.violation


def test_a_look_counts_the_steps_since_the_last_one(rng):
    work = Problem(rng, Map("rbf", 0.7), 0.0).work
    assert [work.pairs(64, (1.0, 1.0), 1e-6, 0.0, most).steps for most in (3, 2, 5)] == [3, 2, 5]
    assert work.look().steps == 0


@pytest.mark.parametrize("double", [True, False])
def test_scans_of_halves_get_changes_that_are_rounded(double, rng):
    work = Problem(rng, Map("rbf", 0.7), 0.4, double=double).work
    work.look()
    given, device = [], work.device
    name = "parts" if double else "half_scan"
    scan = getattr(device, name)
    setattr(device, name, lambda *each: given.append(each[5]) or scan(*each))
    try:
        work.pairs(64, (1.0, 1.0), 1e-4, 0.0, 9)
    finally:
        delattr(device, name)
    [[change]] = given
    coef, _ = work.result()
    expected = coef if double else coef.astype(np.float32)
    np.testing.assert_array_equal(change.cpu().numpy(), expected)


@pytest.mark.parametrize("most", [1, 2, 3, 8])
@pytest.mark.parametrize("tube", [0.0, 0.4])
def test_no_more_steps_than_allowed(tube, most, rng):
    problem = Problem(rng, Map("rbf", 0.7), tube)
    assert problem.work.pairs(64, (1.0, 1.0), 1e-6, 0.0, most).steps == most
    coef, _ = problem.work.result()
    assert np.count_nonzero(coef) <= 2 * most
    assert problem.checked() > 0.0


@pytest.mark.parametrize("double", [True, False])
@pytest.mark.parametrize("tube", [0.0, 0.4])
def test_a_block_of_all_rows_is_solved(tube, double, rng):
    problem = Problem(rng, Map("rbf", 0.7), tube, double)
    tol, v = 1e-3, problem.variables
    look = problem.work.pairs(64, (1.0, 1.0), tol, 0.0, 10_000)
    assert look.violation <= 2 * tol  # the scan rounds otherwise than the block
    reached = problem.checked(TOL.scan_float32)
    problem.steps(1e-9, 10_000)  # by the host
    best = problem.checked(TOL.scan_float32)
    assert reached >= best - 2 * tol * (v.upper - v.lower).sum()


def test_rows_set_aside_return_with_present_scores(rng):
    problem = Problem(rng, Map("poly", 0.5, 1.0, 2), 0.0)
    work = problem.work
    work.pairs(64, (1.0, 1.0), 1e-3, 0.0, 12)
    work.set_aside(0.05)
    few = work.active
    assert 0 < few < ROWS
    problem.steps(1e-6, 3)
    problem.checked()  # scores of all rows, before they are active again
    work.take_back()
    assert work.active == ROWS


def test_half_precision(rng):
    problem = Problem(rng, Map("rbf", 0.7), 0.0, double=False)
    problem.work.pairs(64, (1.0, 1.0), 1e-3, 0.0, 5)
    problem.steps(1e-3, 5)
    problem.checked(TOL.scan_float32)


def test_a_solved_set_does_not_move(rng):
    problem = Problem(rng, Map("rbf", 0.7), 0.0)
    problem.work.pairs(64, (1.0, 1.0), 10.0, 0.0, 30)
    problem.steps(10.0, 30)
    coef, _ = problem.work.result()
    assert not coef.any()


def test_coefficients_at_a_bound_are_not_free(rng):
    problem = Problem(rng, Map("rbf", 0.7), 0.0)
    v = replace(problem.variables, coef=problem.variables.upper.copy())
    work = problem.work
    work.lines[0] = work.device.to(v.coef)
    assert work.look().free == 0


@pytest.mark.parametrize("double", [False, True])
def test_blocks_are_rows_with_their_kernel_values(double, rng):
    problem = Problem(rng, Map("rbf", 0.7), 0.4, double=double)
    problem.steps(1e-2, 20)
    block = problem.work.draw(8, 0.5, 0.5)
    coef, score = problem.work.result()
    rows = [int(np.flatnonzero(score == one)[0]) for one in block.variables.score]
    assert 2 <= len(rows) <= 8
    assert block.tile.dtype == (np.float64 if double else np.float32)
    np.testing.assert_allclose(
        block.tile[:, : len(rows)],
        problem.K[np.ix_(rows, rows)],
        rtol=TOL.twin if double else TOL.kernel_float32,
    )
    np.testing.assert_array_equal(block.variables.coef, coef[rows])
    np.testing.assert_array_equal(block.variables.target, problem.variables.target[rows])


def test_changed_coefficients_return(rng):
    problem = Problem(rng, Map("rbf", 0.7), 0.4)
    block = problem.work.draw(ROWS, 1.0, 1.0)
    at = np.array([3, 7])
    problem.work.move(at, np.array([0.25, -0.25]))
    coef, _ = problem.work.result()
    np.testing.assert_array_equal(coef[at], [0.25, -0.25])
    assert np.count_nonzero(coef) == 2
    assert len(block.tile) == ROWS
    problem.checked()


def test_rows_without_curvature_move_to_their_bounds(rng):
    problem = Problem(rng, Map("linear", 0.0), 0.0)
    look = problem.work.pairs(64, (1.0, 1.0), 1e-3, 0.0, 100)
    coef, _ = problem.work.result()
    v = problem.variables
    side = min(v.upper.sum(), -v.lower.sum())
    assert coef.clip(min=0.0).sum() == side
    assert look.violation <= 0.0


@pytest.mark.parametrize("by", [Map("rbf", 0.7), Map("linear", 0.5), Map("poly", 0.5, -1.0, 3)])
@pytest.mark.parametrize("tube", [0.0, 0.4])
def test_empty_places_of_a_tile_take_no_part(by, tube, rng):
    """Two rows are solved in a step; the program tries seven more in a tile of 64 places."""
    device, X, y = device_of("triton"), rng.normal(size=(9, 3)), np.array([1.0, -1.0])
    work = device.work(
        by, device.hold(X, None, by), np.array([5, 2]), variables(y, tube), 0.1, True
    )
    K = values(by, X[[5, 2]] * by.factor, X[[5, 2]] * by.factor)
    for _ in range(2):
        work.pairs(64, (1.0, 1.0), 1e-3, 0.0, 100)
    c, _ = work.result()
    curvature = max(K[0, 0] + K[1, 1] - 2 * K[0, 1], 1e-30)
    length = min(2.0, (2.0 - tube) / curvature)
    np.testing.assert_allclose(c, [length, -length], rtol=TOL.kernel_float32)


@pytest.mark.parametrize("by", [Map("rbf", 0.7), Map("linear", 0.5), Map("poly", 0.5, -1.0, 3)])
@pytest.mark.parametrize("tube", [0.0, 0.4])
def test_solved_blocks_stay_feasible(by, tube, rng):
    problem = Problem(rng, by, tube)
    for tol in (1e-2, 1e-4):
        problem.work.pairs(64, (1.0, 1.0), tol, 0.0, 60)
        assert problem.checked() > 0.0


def test_rows_in_the_order_of_their_classes_are_drawn_from_both(rng):
    """At zero all rows of a class are extreme."""
    device, by = device_of("triton"), Map("rbf", 0.7)
    X, y = rng.normal(size=(300, 3)), np.repeat([-1.0, 1.0], 150)
    held = device.hold(X, None, by)
    work = device.work(by, held, np.arange(300), variables(y, 0.0), 1e-4, True)
    work.look()
    drawn = work._drawn(64, 0.2, 0.2)[0].cpu().numpy()
    assert set(y[drawn[drawn >= 0]]) == {-1.0, 1.0}
    assert work.pairs(64, (0.2, 0.2), 1e-3, 0.1, 8).steps == 8


@pytest.mark.parametrize("call", ["pairs", "block", "newton"])
def test_coefficients_and_scores_agree_if_memory_is_short(call, rng, monkeypatch):
    problem = Problem(rng, Map("rbf", 0.7), 0.4)
    import torch

    work = problem.work
    work.pairs(64, (1.0, 1.0), 1e-2, 0.0, 6)
    before, _ = work.result()
    take = {
        "pairs": lambda: work.pairs(16, (0.5, 0.5), 1e-4, 0.0, 6),
        "block": lambda: problem.steps(1e-4, 6),
        "newton": lambda: work.newton(0.03, 8),
    }[call]

    def short(*arguments):
        raise torch.OutOfMemoryError

    with monkeypatch.context() as patch:
        patch.setattr(type(work), "scan", short)
        with pytest.raises(MemoryError):
            take()
    problem.checked()
    after, _ = work.result()
    np.testing.assert_allclose(after, before, rtol=0, atol=TOL.twin)
