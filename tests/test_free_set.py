"""The free variables of a path: kernel values and the factor, as variables come and go."""

from __future__ import annotations

import numpy as np
import pytest

from conftest import TOL
from widestreet._src.engines.homotopy.free_set import FreeSet

pytestmark = pytest.mark.numeric


class Twin:
    """A free set and what it should be: kernel values of all rows, and a list of variables."""

    def __init__(self, rng, n=30):
        X = rng.normal(size=(n, 2))
        self.K = np.exp(-((X[:, None] - X) ** 2).sum(axis=2)) + 0.1 * np.eye(n)
        self.free, self.members, self.rng = FreeSet(n, 1, 1.0), [], rng

    def copy(self):
        other = Twin.__new__(Twin)
        other.K, other.rng = self.K, self.rng
        other.free, other.members = self.free.copy(), self.members.copy()
        return other

    def append(self):
        able = np.setdiff1d(np.arange(len(self.K)), self.members)
        if len(able):
            v = int(self.rng.choice(able))
            assert self.free.append(v, v % 2, self.K[v, v], self.K[:, v])
            self.members.append(v)

    def remove(self):
        if self.members:
            at = int(self.rng.integers(len(self.members)))
            assert self.free.remove(at) == self.members.pop(at)

    def check(self):
        free, S = self.free, self.members
        assert free.members == S
        assert free.present(2) == [any(v % 2 == g for v in S) for g in range(2)]
        change, rows = self.rng.normal(size=len(S)), self.rng.permutation(len(self.K))[:7]
        wanted = self.K[:, S] @ change
        np.testing.assert_allclose(free.spread(change), wanted, rtol=0, atol=TOL.twin)
        np.testing.assert_allclose(free.spread(change, rows), wanted[rows], rtol=0, atol=TOL.twin)
        np.testing.assert_array_equal(free.values(3), self.K[3, S])
        for at, v in enumerate(S):
            np.testing.assert_array_equal(free.column(at), self.K[:, v])
        if {v % 2 for v in S} == {0, 1}:
            sums = self.rng.normal(size=2)
            x, m = free.solve(change, sums)
            groups = np.array(S) % 2
            left = self.K[np.ix_(S, S)] @ x + m[groups]
            np.testing.assert_allclose(left, change, rtol=0, atol=TOL.twin * 1e3)
            np.testing.assert_allclose(np.bincount(groups, x), sums, rtol=0, atol=TOL.twin * 1e3)


@pytest.mark.parametrize("seed", range(4))
def test_variables_come_and_go(seed):
    """Many come, nearly all go, and others take their places: some between two looks."""
    rng = np.random.default_rng(seed)
    twin, looks = Twin(rng), (1.0, 0.5, 0.2, 0.07)[seed]
    for chance in (0.9, 0.1, 0.6):
        for _ in range(40):
            (twin.append if rng.random() < chance else twin.remove)()
            if rng.random() < looks:
                twin.check()
    twin.check()
    assert twin.free._held.shape[1] < 4 * len(twin.K)


def test_copies_do_not_disturb_each_other():
    """Kernel values are shared until somebody writes."""
    rng = np.random.default_rng(5)
    twins = [Twin(rng)]
    for _ in range(12):
        twins[0].append()
    for _ in range(60):
        one = twins[int(rng.integers(len(twins)))]
        if rng.random() < 0.2:
            twins.append(one.copy())
        (one.append if rng.random() < 0.5 else one.remove)()
        for other in twins:
            other.check()


def test_nothing_is_kept_of_rows_that_are_gone():
    rng = np.random.default_rng(6)
    twin = Twin(rng)
    for _ in range(10):
        twin.append()
    keep = np.setdiff1d(np.arange(len(twin.K)), twin.members[:3])
    gone = twin.K[:, twin.members[:3]].copy()
    for _ in range(3):
        twin.free.remove(0)
    twin.free.rearrange(keep)
    held = twin.free._held
    assert not any(
        (held[: len(keep), j] == gone[keep, i]).all() for j in range(16) for i in range(3)
    )
    np.testing.assert_array_equal(
        twin.free.spread(np.ones(7)).round(9),
        twin.K[np.ix_(keep, twin.members[3:])].sum(axis=1).round(9),
    )
