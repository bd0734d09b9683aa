"""The state of an online machine: problems are solved, updated, renamed and restored."""

from __future__ import annotations

import numpy as np
import pytest

from conftest import TOL
from support.online_states import N, optimum, problem, rows, state


def refuse(one, members):
    raise AssertionError("nothing is new")


def test_only_new_problems_are_solved():
    now = state("svc")
    solved = []

    def solve(one, members):
        solved.append(members)
        return optimum("svc")

    members = np.arange(N)
    wanted = {(0, 1): (problem("svc"), members), (0, 2): (problem("svc"), members)}
    before = now.optima[0, 1]
    now.arrange(wanted, np.zeros(0, dtype=np.int64), solve)
    assert now.optima[0, 1] is before
    assert list(now.optima) == [(0, 1), (0, 2)]
    assert len(solved) == 1
    now.arrange({}, np.zeros(0, dtype=np.int64), solve)
    assert now.optima == {}


def test_new_rows_reach_the_problems_that_have_them():
    X, y = rows("svc")
    now = state("svc", N - 2)
    new = now.store.add(X[N - 2 :], y[N - 2 :], np.ones(2))
    now.proof = []
    now.arrange({(0, 1): (problem("svc"), np.arange(N))}, new, refuse)
    assert now.proof is None
    assert now.optima[0, 1].certificate(TOL.online).status == "optimal"
    assert len(now.optima[0, 1].members) == N


def test_classes_that_come_later_get_numbers_between_the_others():
    now = state("svc")
    now.classes = np.array(["a", "c"])
    before, found = now.store.target.copy(), now.optima[0, 1]
    now.rename_classes(np.array(["a", "b", "c"]))
    np.testing.assert_array_equal(now.store.target, np.where(before == 1, 2, 0))
    assert now.optima == {(0, 2): found}


def test_dropped_rows_leave_the_others_where_their_problems_expect_them():
    now = state("svc")
    gone = np.array([2, 11])
    now.store.weight[gone] = 0.0
    now.optima[0, 1].update()
    ids = np.setdiff1d(now.store.ids, gone)
    now.drop(gone)
    assert sorted(now.store.ids) == sorted(ids)
    assert sorted(now.optima[0, 1].members) == list(range(N - 2))
    assert now.optima[0, 1].certificate(TOL.online).status == "optimal"


@pytest.mark.parametrize("kind", ["svc", "svr"])
def test_what_was_kept_comes_back(kind):
    now = state(kind)
    X, y, ids = now.store.X.copy(), now.store.target.copy(), now.store.ids.copy()
    kept = now.kept()
    gone = np.array([0, 5])
    kept.rows.keep(now.store, gone)
    now.store.weight[gone] = 0.0
    now.optima[0, 1].update()
    now.drop(gone)
    now.store.add(X[:3] + 1.0, y[:3], np.ones(3))
    now.classes = np.array([7, 8, 9])
    now.restore(kept)
    np.testing.assert_array_equal(now.store.X, X)
    np.testing.assert_array_equal(now.store.target, y)
    np.testing.assert_array_equal(now.store.ids, ids)
    np.testing.assert_array_equal(now.store.weight, np.ones(N))
    assert (now.classes is None) == (kind == "svr")
    assert now.optima == {}
