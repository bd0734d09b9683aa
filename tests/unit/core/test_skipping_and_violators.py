"""Which rows must be evaluated again and which violate: the core against reference.shard."""

from __future__ import annotations

from itertools import pairwise
from math import gcd
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import TOL
from reference import duals, shard
from widestreet import _core

pytestmark = pytest.mark.numeric

UNKNOWN, INSIDE = _core.UNKNOWN, _core.IN_WORKING_SET


class Case(NamedTuple):
    dual: duals.BetaDual
    beta: np.ndarray
    score: np.ndarray
    version: np.ndarray
    norm: np.ndarray | None
    bias: np.ndarray
    drift: np.ndarray

    @property
    def rows(self) -> int:
        return len(self.score)

    @property
    def native(self) -> _core.Shard:
        dual = self.dual
        group = dual.group.astype(np.uint8)
        variables = _core.Variables(
            dual.target, dual.lower, dual.upper, group, groups=len(dual.totals)
        )
        return _core.Shard(variables, self.beta, self.score, self.version, self.norm)

    def part(self, rows) -> duals.BetaDual:
        dual = self.dual
        arrays = (a[:, rows] for a in (dual.target, dual.lower, dual.upper, dual.group))
        return duals.BetaDual(*arrays, dual.totals)

    def skipped(self) -> np.ndarray:
        """Rows outside the working set, of known score, that cannot violate."""
        diag = np.ones(self.rows) if self.norm is None else self.norm.astype(np.float64) ** 2
        drift = np.where(self.version >= 0, self.drift[np.maximum(self.version, 0)], 0.0)
        safe = shard.may_skip(self.score, self.beta, self.dual, self.bias, 0.0, drift, diag)
        return safe & (self.version >= 0)


def case(seed: int, n: int, layers: int, groups: int, *, norms: bool) -> Case:
    """Numbers on a grid of eighths, so that sums are exact and values often equal their limit."""
    rng = np.random.default_rng(seed)

    def grid(low, high, size):
        return rng.integers(8 * low, 8 * high + 1, size=size) / 8

    shape = (layers, n)
    box, positive = rng.choice([0.0, 0.5, 1.0, 2.0], shape), rng.random(shape) < 0.5
    lower, upper = np.where(positive, 0.0, -box), np.where(positive, box, 0.0)
    beta = np.where(positive, box, -box) * rng.choice([0.0, 0.5, 1.0], shape)
    group = rng.integers(0, groups, shape)
    dual = duals.BetaDual(grid(-2, 2, shape), lower, upper, group, np.zeros(groups))
    version = rng.choice([UNKNOWN, INSIDE, 0, 1, 2], n).astype(np.int32)
    norm = grid(0, 2, n).astype(np.float32) if norms else None
    drift = np.array([1.5, 0.25, 0.0])
    return Case(dual, beta, grid(-2, 2, n), version, norm, grid(-1, 1, groups), drift)


shapes = {
    "seed": st.integers(0, 2**32 - 1), "n": st.integers(1, 60), "layers": st.integers(1, 2),
    "groups": st.integers(1, 2), "norms": st.booleans(),
}  # fmt: skip
limits = st.sampled_from([0.0, 0.125, 0.5])


def visits(n: int, offset: int, stride: int, begin: int, end: int) -> list[int]:
    """Return rows of a walk: in its order, or ascending if they are an eighth of all or more."""
    rows = shard.walk(n, offset, stride, begin, end)
    return sorted(rows) if 8 * (end - begin) >= n else rows


@given(**shapes, data=st.data())
def test_triage(seed, n, layers, groups, norms, data):
    """Each row of the walk is in the working set, skipped or stale."""
    c = case(seed, n, layers, groups, norms=norms)
    offset = data.draw(st.integers(0, n - 1))
    stride = data.draw(st.integers(1, 3 * n).filter(lambda s: gcd(s, n) == 1))
    begin, end = sorted(data.draw(st.tuples(st.integers(0, n), st.integers(0, n))))
    stale, skipped, loss = c.native.triage(offset, stride, begin, end, c.bias, c.drift, 1)
    rows = np.array(visits(n, offset, stride, begin, end), dtype=np.int64)
    safe = c.skipped()[rows]
    assert stale.tolist() == rows[~safe & (c.version[rows] != INSIDE)].tolist()
    assert skipped == safe.sum()
    jumped = rows[safe]
    expected = shard.loss_sum(c.score[jumped], c.part(jumped), c.bias).sum()
    assert loss == pytest.approx(expected, rel=TOL.twin, abs=TOL.twin)


@given(n=st.integers(1, 5000), data=st.data())
def test_a_walk_comes_to_each_row_exactly_once(n, data):
    """In pieces or in one go, when its stride has no factor in common with the rows."""
    stride = data.draw(st.integers(1, 2**62).filter(lambda s: gcd(s, n) == 1))
    offset = data.draw(st.integers(0, n - 1))
    cuts = [0, *sorted(data.draw(st.lists(st.integers(0, n), max_size=3))), n]
    c = case(0, n, 1, 1, norms=False)
    c.version[:] = UNKNOWN
    pieces = [
        c.native.triage(offset, stride, begin, end, c.bias, c.drift, 1)[0]
        for begin, end in pairwise(cuts)
    ]
    visited = np.concatenate(pieces)
    expected = [visits(n, offset, stride, begin, end) for begin, end in pairwise(cuts)]
    assert visited.tolist() == [row for rows in expected for row in rows]
    assert np.array_equal(np.sort(visited), np.arange(n))


@given(**shapes)
def test_what_may_have_moved_anywhere_is_never_skipped(seed, n, layers, groups, norms):
    """An infinite drift asks for every row outside the working set."""
    c = case(seed, n, layers, groups, norms=norms)
    drift = np.full(3, np.inf)
    stale, skipped, loss = c.native.triage(0, 1, 0, n, c.bias, drift, 1)
    assert stale.tolist() == np.flatnonzero(c.version != INSIDE).tolist()
    assert (skipped, loss) == (0, 0.0)


@given(**shapes, tol=limits, data=st.data())
def test_judge(seed, n, layers, groups, norms, tol, data):
    c = case(seed, n, layers, groups, norms=norms)
    rows = data.draw(st.lists(st.integers(0, n - 1), max_size=2 * n))
    index = np.array(rows, dtype=np.int64)
    part, beta, score = c.part(index), c.beta[:, index], c.score[index]
    at, violation, highest, lowest, loss = c.native.judge(index, c.bias, tol, 2)
    expected = np.unique(shard.violators(score, beta, part, c.bias, tol) % max(1, len(rows)))
    assert at.tolist() == expected.tolist()
    if len(rows):
        excess = shard.excess(score, beta, part, c.bias)
        assert np.array_equal(violation, excess[at])
        assert (np.delete(excess, at) <= tol).all()
    high, low = shard.extremes(score, beta, part).T
    assert np.array_equal(highest, high)
    assert np.array_equal(lowest, low)
    expected = shard.loss_sum(score, part, c.bias).sum()
    assert loss == pytest.approx(expected, rel=TOL.twin, abs=TOL.twin)


@given(**shapes)
def test_without_drift_triage_and_judge_agree(seed, n, layers, groups, norms):
    """The rows that are not skipped are those that violate."""
    c = case(seed, n, layers, groups, norms=norms)
    c.version[:] = 2
    stale, skipped, _ = c.native.triage(0, 1, 0, n, c.bias, c.drift, 1)
    at, *_ = c.native.judge(np.arange(n), c.bias, 0.0, 1)
    assert stale.tolist() == at.tolist()
    assert skipped == n - len(at)


def test_a_shard_sees_what_its_arrays_hold(rng):
    """Nothing is copied: the arrays are the state."""
    c = case(1, 20, 2, 1, norms=True)
    native = c.native
    c.version[:] = INSIDE
    assert native.triage(0, 1, 0, 20, c.bias, c.drift, 1)[0].size == 0
    c.version[[3, 7]] = UNKNOWN
    assert native.triage(0, 1, 0, 20, c.bias, c.drift, 1)[0].tolist() == [3, 7]
    before = native.judge(np.arange(20), c.bias, 0.0, 1)[2]
    c.score[:] -= 1.0
    assert np.array_equal(native.judge(np.arange(20), c.bias, 0.0, 1)[2], before + 1.0)


def test_threads_change_no_bit():
    c = case(3, 30_000, 2, 2, norms=True)
    for end in (3_000, 29_000):
        one, two = (c.native.triage(5, 7, 100, end, c.bias, c.drift, t) for t in (1, 2))
        assert 0 < len(one[0]) < end
        for mine, theirs in zip(one, two, strict=True):
            assert np.array_equal(mine, theirs)


@pytest.mark.parametrize("version", [-3, 3, 1000])
def test_a_version_without_a_drift_counts_as_unknown(version):
    c = case(0, 20, 1, 1, norms=False)
    c.version[:] = version
    stale, skipped, _ = c.native.triage(0, 1, 0, 20, c.bias, c.drift, 1)
    assert stale.tolist() == list(range(20))
    assert skipped == 0


def test_threads_find_the_same_violators_in_the_same_order():
    c = case(0, 20_000, 2, 2, norms=False)
    rows = np.random.default_rng(0).permutation(20_000)
    one, several = (c.native.judge(rows, c.bias, 0.1, threads) for threads in (1, 3))
    assert len(one[0]) > 0
    for a, b in zip(one, several, strict=True):
        assert np.array_equal(a, b)
