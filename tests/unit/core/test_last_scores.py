"""The last scores of rows: divided by version, read and replaced."""

from __future__ import annotations

import numpy as np
import pytest

from widestreet import _core
from widestreet._src.problems.formulations import c_svc

pytestmark = pytest.mark.numeric

PRESENT = 5
every_number = pytest.mark.parametrize("threads", [1, 3])


class Lab:
    """A shard with the arrays that it holds."""

    def __init__(self, rng, n):
        dual = c_svc(np.where(np.arange(n) % 2 == 0, 1.0, -1.0), 1.0)
        self.score, self.version = rng.normal(size=n), rng.integers(-2, PRESENT + 1, n).astype("i4")
        self.beta = np.zeros((1, n))
        self.native = _core.Shard(dual.native(), self.beta, self.score, self.version, None)


@every_number
@pytest.mark.parametrize("n", [1, 60, 50_000])
def test_rows_are_divided_by_version_in_their_order(n, threads, rng):
    lab = Lab(rng, n)
    rows = rng.permutation(n)[: (n + 1) // 2]
    found, count = lab.native.by_version(rows, PRESENT, threads)
    version = lab.version[rows]
    last = max(version[version < PRESENT], default=-1)
    parts = [rows[version < 0], *(rows[version == v] for v in range(last + 1))]
    assert count.tolist() == [len(part) for part in parts]
    assert np.array_equal(found[: count.sum()], np.concatenate(parts))


def test_later_versions_are_unknown(rng):
    lab = Lab(rng, 4)
    lab.version[:] = [7, 0, 1, -1]
    found, count = lab.native.by_version(np.arange(4), 2, 1)
    assert count.tolist() == [2, 1, 1]
    assert found.tolist() == [0, 3, 1, 2]


def test_memory_does_not_depend_on_the_number_of_versions(rng):
    lab = Lab(rng, 4)
    lab.version[:] = [3, 0, 3, -1]
    found, count = lab.native.by_version(np.arange(4), 2**31 - 1, 1)
    assert count.tolist() == [1, 1, 0, 0, 2]
    assert found.tolist() == [3, 1, 0, 2]


@every_number
def test_scores_are_read_and_replaced(threads, rng):
    lab = Lab(rng, 40_000)
    rows = rng.permutation(40_000)[:30_000]
    score, version = lab.score.copy(), lab.version.copy()
    assert np.array_equal(lab.native.read(rows, threads), score[rows])
    score[rows], version[rows] = np.arange(30_000.0), PRESENT
    lab.native.store(rows, np.arange(30_000.0), PRESENT, threads)
    assert np.array_equal(lab.score, score)
    assert np.array_equal(lab.version, version)


def test_malformed_calls_are_refused(rng):
    native = Lab(rng, 4).native
    for row in (-1, 4, 2**62, -(2**63)):
        rows = np.array([0, row])
        for call in (
            lambda rows=rows: native.by_version(rows, PRESENT, 1),
            lambda rows=rows: native.read(rows, 1),
            lambda rows=rows: native.store(rows, np.zeros(2), PRESENT, 1),
        ):
            with pytest.raises(ValueError, match="out of range"):
                call()
    with pytest.raises(ValueError, match="one score per row"):
        native.store(np.array([0]), np.zeros(2), PRESENT, 1)
    with pytest.raises(ValueError, match="not negative"):
        native.by_version(np.array([0]), -1, 1)
    with pytest.raises(ValueError, match="at least 1"):
        native.read(np.array([0]), 0)
