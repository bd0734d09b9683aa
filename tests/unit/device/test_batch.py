"""Problems side by side on a GPU: the dual of each rises, sums and bounds hold, scores are K c."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from conftest import TOL
from support.batches import Pairs
from widestreet._src.device.batch_contract import Extent
from widestreet._src.engines.working_set.batch_on_device import _joined

TO = Extent(goal=1e-3, part=0.2, part_of_all=0.03, most=5000, limit=10**6)


class Problems:
    """Pairs of classes in the memory of a device."""

    def __init__(self, rows: int = 60, **options) -> None:
        self.pairs = Pairs("triton", rows=rows, **options)
        there, (variables, _) = self.pairs.resident, _joined(self.pairs.parts)
        where = there.places(np.concatenate([part.rows for part in self.pairs.parts]))
        self.batch = there.batch(where, self.pairs.sizes, variables, 1e-4, 128)

    def checked(self, error: float = TOL.scan_float32) -> np.ndarray:
        """Return the dual objectives of points that are feasible and have the right scores."""
        found, ends = [], np.cumsum(self.pairs.sizes)[:-1]
        coef, score = (np.split(one, ends) for one in self.batch.result())
        for p, (c, u) in enumerate(zip(coef, score, strict=True)):
            found.append(self.pairs.judged(p, c[None])[1])
            size = max(1.0, np.abs(c).sum())
            np.testing.assert_allclose(u, self.pairs.kernel(p) @ c, rtol=0, atol=error * size)
        return np.array(found)


def test_every_round_raises_every_dual():
    problems = Problems()
    now, before = problems.batch.look(), np.zeros(3)
    for most in (2, 9):
        now = problems.batch.pairs(64, replace(TO, most=most))
        after = problems.checked()
        assert (after > before).all()
        before = after
    np.testing.assert_array_equal(now.steps, 11)
    assert (now.values >= 2 * problems.pairs.sizes**2).all()


def test_blocks_of_some_rows():
    """Problems of more rows than a block has."""
    problems, to = Problems(rows=150), replace(TO, goal=1e-2)
    assert problems.pairs.sizes.min() > 64
    now, best = problems.batch.look(), np.zeros(3)
    for _ in range(20):
        now = problems.batch.pairs(64, to)
        after = problems.checked()
        assert (after >= best - TOL.scan_float32 * np.abs(best)).all()
        best = after
        if (now.violation <= to.goal).all():
            break
    assert (now.violation <= to.goal).all()


def test_blocks_have_both_extremes_and_both_classes():
    problems = Problems(rows=180)
    batch = problems.batch
    batch.look()
    for _ in range(2):
        batch._draw(64, TO.goal)
        slots = batch._blocks.slots[: 3 * 64].cpu().numpy().reshape(3, 64)
        ends = np.cumsum(problems.pairs.sizes)
        target, coef, score = (batch.lines[line].cpu().numpy() for line in (2, 0, 1))
        low, high = (batch.lines[line].cpu().numpy() for line in (4, 5))
        for p, line in enumerate(slots):
            some = line[line >= 0]
            assert len(np.unique(some)) == len(some) == batch._blocks.sizes.cpu().numpy()[p] > 32
            begin, end = ends[p] - problems.pairs.sizes[p], ends[p]
            assert ((begin <= some) & (some < end)).all()
            assert set(target[some]) == {-1.0, 1.0}
            f = (target - score)[begin:end]
            up = np.where((coef < high)[begin:end], f, -np.inf)
            down = np.where((coef > low)[begin:end], f, np.inf)
            if (up == up.max()).sum() == 1:  # otherwise some of them
                assert begin + up.argmax() in some
            if (down == down.min()).sum() == 1:
                assert begin + down.argmin() in some
        batch.pairs(64, replace(TO, most=30))


def test_solved_problems_do_not_move():
    problems = Problems()
    first = problems.batch.look()
    now = problems.batch.pairs(64, replace(TO, goal=float(first.violation.max())))
    assert not now.steps.any()
    assert not problems.batch.result()[0].any()
    assert not problems.batch._blocks.sizes.any()


def test_a_limit_of_steps():
    problems = Problems()
    problems.batch.look()
    for _ in range(2):
        now = problems.batch.pairs(64, replace(TO, limit=5))
        np.testing.assert_array_equal(now.steps, 5)
    problems.checked()


def test_scores_in_float64():
    problems = Problems()
    problems.batch.look()
    now = problems.batch.pairs(64, TO)
    found = problems.batch.refresh()
    problems.checked(TOL.twin)
    counts = [np.count_nonzero(c) for c in np.split(problems.batch.result()[0], _ends(problems))]
    np.testing.assert_array_equal(found.values - now.values, counts * problems.pairs.sizes)


def _ends(problems: Problems) -> np.ndarray:
    return np.cumsum(problems.pairs.sizes)[:-1]


def test_scores_after_an_interrupt(monkeypatch):
    """Ctrl-C between the steps of a round and the update of the scores."""
    problems = Problems()
    problems.batch.look()

    def stop(width):
        raise KeyboardInterrupt

    monkeypatch.setattr(problems.batch, "_first_of", stop)
    with pytest.raises(KeyboardInterrupt):
        problems.batch.pairs(64, TO)
    assert (problems.checked(TOL.twin) > 0).all()


def test_a_problem_with_nothing_to_move():
    """All weights of one class are zero."""
    problems = Problems()
    [part, *_] = problems.pairs.parts
    low, high = problems.batch.lines[4], problems.batch.lines[5]
    low[: part.dual.rows] = 0.0
    now = problems.batch.look()
    assert now.violation[0] < 0
    assert (now.violation[1:] == 2.0).all()
    problems.batch.pairs(64, TO)
    high[: part.dual.rows] = 0.0
    now = problems.batch.look()
    assert now.violation[0] < 0
    assert not problems.batch.result()[0][: part.dual.rows].any()
