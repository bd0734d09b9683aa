"""The free set: members, kernel columns and the factor, as variables enter and leave."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from conftest import TOL
from widestreet._src.engines.homotopy.free_set import FreeSet

pytestmark = pytest.mark.numeric


class Twin:
    """A free set and its expected content: kernel values of all rows, and a list of variables."""

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
        assert free.groups_present(2) == [any(v % 2 == g for v in S) for g in range(2)]
        change, rows = self.rng.normal(size=len(S)), self.rng.permutation(len(self.K))[:7]
        wanted = self.K[:, S] @ change
        np.testing.assert_allclose(free.score_change(change), wanted, rtol=0, atol=TOL.twin)
        np.testing.assert_allclose(
            free.score_change(change, rows), wanted[rows], rtol=0, atol=TOL.twin
        )
        np.testing.assert_array_equal(free.columns.row(3), self.K[3, S])
        for at, v in enumerate(S):
            np.testing.assert_array_equal(free.columns.column(at), self.K[:, v])
        if {v % 2 for v in S} == {0, 1}:
            sums = self.rng.normal(size=2)
            x, m = free.solve(change, sums)
            groups = np.array(S) % 2
            left = self.K[np.ix_(S, S)] @ x + m[groups]
            np.testing.assert_allclose(left, change, rtol=0, atol=TOL.twin * 1e3)
            np.testing.assert_allclose(np.bincount(groups, x), sums, rtol=0, atol=TOL.twin * 1e3)


@pytest.mark.parametrize("seed", range(4))
def test_variables_enter_and_leave(seed):
    """Many enter, nearly all leave, and others take their slots: some between two checks."""
    rng = np.random.default_rng(seed)
    twin, checks = Twin(rng), (1.0, 0.5, 0.2, 0.07)[seed]
    for chance in (0.9, 0.1, 0.6):
        for _ in range(40):
            (twin.append if rng.random() < chance else twin.remove)()
            if rng.random() < checks:
                twin.check()
    twin.check()


def test_copies_are_independent():
    """Kernel values are shared until one of the copies writes."""
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


def test_members_are_replaced_at_once(rng):
    twin = Twin(rng)
    twin.append()
    variables = rng.permutation(len(twin.K))[:9]
    group = (variables % 2).astype(np.uint8)
    assert twin.free.replace(variables, group, twin.K[:, variables])
    twin.members = variables.tolist()
    twin.check()
    twin.append()
    twin.remove()
    twin.check()


def test_dependent_variables_are_refused(rng):
    """One by one, and all at once; the set stays as it was."""
    twin = Twin(rng)
    twin.K[7], twin.K[:, 7] = twin.K[5], twin.K[:, 5]
    twin.K[7, 7] = twin.K[5, 5]
    assert twin.free.append(5, 1, twin.K[5, 5], twin.K[:, 5])
    twin.members.append(5)
    assert not twin.free.append(7, 1, twin.K[7, 7], twin.K[:, 7])
    both = np.array([5, 7])
    assert not twin.free.replace(both, np.ones(2, dtype=np.uint8), twin.K[:, both])
    twin.check()


def test_another_sigma_changes_no_solution(rng):
    twin = Twin(rng)
    for _ in range(10):
        twin.append()
    twin.free.rescale(50.0)
    assert twin.free.sigma == 50.0
    twin.check()
    twin.append()
    twin.check()


@pytest.mark.parametrize("how", ["pickle", "deepcopy"])
def test_copies_have_a_factor_of_their_own(how, rng):
    twin = Twin(rng)
    for _ in range(10):
        twin.append()
    other = twin.copy()
    other.free = (
        pickle.loads(pickle.dumps(twin.free)) if how == "pickle" else copy.deepcopy(twin.free)
    )
    other.remove()
    other.append()
    twin.check()
    other.check()


def test_members_follow_their_rows(rng):
    """Two variables per row; rows are selected in another order."""
    K = np.cov(rng.normal(size=(6, 9)))
    free = FreeSet(6, 2, 1.0)
    for v in (3, 8, 10):
        assert free.append(v, v % 2, K[v // 2, v // 2], K[:, v // 2])
    order = np.array([0, 5, 4, 1])
    free.select_rows(order)
    assert free.members == [7, 4, 2]
    assert free.rows.tolist() == [3, 2, 1]
    np.testing.assert_array_equal(free.columns.block(free.rows), K[np.ix_([1, 4, 5], [1, 4, 5])])
