"""Inverses of bordered matrices: every update against the matrix that it inverts."""

from __future__ import annotations

import numpy as np
import pytest

from conftest import TOL
from widestreet._src.engines.insvr import bordered_inverse
from widestreet._src.engines.insvr.bordered_inverse import BorderedInverse

BIAS, TUBE = -2, -1


def bench(rng, size: int = 30) -> tuple[np.ndarray, np.ndarray]:
    """Labels, and z z' K for random rows and a kernel of full rank."""
    X, z = rng.normal(size=(size, 3)), rng.choice([-1.0, 1.0], size=size)
    squared = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    return z, np.outer(z, z) * np.exp(-squared)


def bordered_matrix(keys, z, Q, corner: float) -> np.ndarray:
    """The matrix of the paper for these rows, entry by entry."""
    M = np.zeros((len(keys), len(keys)))
    for a, i in enumerate(keys):
        for b, j in enumerate(keys):
            low, high = min(i, j), max(i, j)
            if low >= 0:
                M[a, b] = Q[i, j]
            elif high >= 0:
                M[a, b] = z[high] if low == BIAS else 1.0
            elif low == high == TUBE:
                M[a, b] = corner
    return M


def grow(subject: BorderedInverse, keys, z, Q, corner: float = 0.0) -> None:
    M = bordered_matrix([*subject.keys, *keys], z, Q, corner)
    k = len(subject)
    subject.grow(keys, M[:k, k:], M[k:, k:])


def assert_inverse(subject: BorderedInverse, z, Q, corner: float = 0.0) -> None:
    M = bordered_matrix(subject.keys, z, Q, corner)
    np.testing.assert_allclose(subject.matrix, M, atol=0, rtol=TOL.exact)
    assert subject.error() <= TOL.inverse
    assert np.abs(M @ subject.inverse - np.eye(len(M))).max(initial=0.0) <= TOL.inverse


def test_a_thousand_rows_are_added_and_removed(rng):
    """Rows of variables, and the row of e' with either corner."""
    z, Q = bench(rng)
    subject, corner = BorderedInverse(), 0.0
    grow(subject, [BIAS, 0], z, Q)
    grow(subject, [1 + int(np.argmax(z[1:] != z[0]))], z, Q)
    fixed = [*subject.keys]
    for _ in range(1000):
        v = int(rng.integers(len(z)))
        if v in subject and v not in fixed:
            subject.shrink([v])
        elif v not in subject:
            grow(subject, [v], z, Q, corner)
        if TUBE in subject and rng.random() < 0.3:
            subject.shrink([TUBE])
        elif TUBE not in subject and rng.random() < 0.3:
            corner = float(rng.choice([0.0, -1.0]))
            grow(subject, [TUBE], z, Q, corner)
        assert_inverse(subject, z, Q, corner)


def test_two_rows_at_once_where_one_would_be_singular(rng):
    """With one label in S the row of e' is singular without a variable of the other label."""
    z, Q = bench(rng)
    plus, minus = np.flatnonzero(z > 0)[:4].tolist(), int(np.flatnonzero(z < 0)[0])
    subject = BorderedInverse()
    grow(subject, [BIAS, plus[0]], z, Q)
    for v in plus[1:]:
        grow(subject, [v], z, Q)
    grow(subject, [TUBE, minus], z, Q)
    assert_inverse(subject, z, Q)
    subject.shrink([minus, TUBE])
    assert_inverse(subject, z, Q)
    subject.shrink([BIAS, *plus])
    assert len(subject) == 0
    assert subject.error() == 0.0
    assert len(subject.solve(np.zeros(0))) == 0


def test_the_scale_of_the_kernel_changes(rng):
    z, Q = bench(rng)
    subject = BorderedInverse()
    grow(subject, [BIAS, TUBE, *range(10)], z, Q)
    subject.rescale(0.9)
    assert_inverse(subject, z, 0.9 * Q)


def test_the_scale_of_a_kernel_of_low_rank_changes(rng):
    """The paper uses the inverse of Q_SS, which does not exist here."""
    X, z = rng.normal(size=(4, 2)), np.array([1.0, -1.0, 1.0, -1.0])
    Q = np.outer(z, z) * (X @ X.T)
    assert np.linalg.matrix_rank(Q) == 2
    subject = BorderedInverse()
    grow(subject, [BIAS, TUBE, 0, 1, 2, 3], z, Q)
    subject.rescale(0.5)
    assert_inverse(subject, z, 0.5 * Q)


def test_the_corner_changes(rng):
    """From R-hat to R-check and back."""
    z, Q = bench(rng)
    subject = BorderedInverse()
    grow(subject, [BIAS, TUBE, *range(10)], z, Q, -1.0)
    for corner, change in ((0.0, 1.0), (-1.0, -1.0)):
        subject.shift(TUBE, change)
        assert_inverse(subject, z, Q, corner)


@pytest.mark.parametrize("one_label", [True, False])
def test_signs_of_strict_restoration(rng, one_label):
    """w'Rw >= 0, and zero with one label; e' moves against the sum of alpha, or alone."""
    z, Q = bench(rng)
    members = np.flatnonzero(z > 0)[:6] if one_label else np.arange(6)
    subject = BorderedInverse()
    grow(subject, [BIAS, *members.tolist()], z, Q)
    w = np.array([0.0, *np.ones(6)])
    bend = w @ subject.inverse @ w
    assert abs(bend) <= TOL.inverse if one_label else bend > 0
    grow(subject, [TUBE], z, Q, -1.0)
    right = np.array([*np.zeros(7), -1.0])  # d zeta = 1
    h = subject.solve(right)
    assert h[-1] == pytest.approx(1 / (1 + bend), rel=TOL.inverse)
    assert h[1:7].sum() == pytest.approx(-bend / (1 + bend), abs=TOL.inverse)


def test_solutions_are_refined_and_an_inaccurate_inverse_is_computed_again(rng):
    z, Q = bench(rng)
    subject = BorderedInverse()
    grow(subject, [BIAS, *range(10)], z, Q)
    subject.inverse *= 1.01
    right = rng.normal(size=11)
    x = subject.solve(right)
    assert np.abs(subject.matrix @ x - right).max() <= TOL.twin
    assert subject.error() <= TOL.inverse


@pytest.mark.parametrize("changes", [1, 64])
def test_the_callback_follows_every_change(rng, changes, monkeypatch):
    monkeypatch.setattr(bordered_inverse, "_UPDATES_BETWEEN_INVERSIONS", changes)
    z, Q = bench(rng)
    seen = []
    subject = BorderedInverse(lambda: seen.append(subject.error()))
    grow(subject, [BIAS, 0], z, Q)
    for v in range(1, 6):
        grow(subject, [v], z, Q)
    subject.shrink([3])
    subject.rescale(0.5)
    assert len(seen) == 8
    assert max(seen) <= TOL.inverse


def test_a_singular_matrix_is_an_error(rng):
    z, Q = bench(rng)
    Q[1], Q[:, 1] = Q[0], Q[:, 0]
    Q[1, 1], z[1] = Q[0, 0], z[0]
    subject = BorderedInverse()
    grow(subject, [BIAS, 0], z, Q)
    with pytest.raises(np.linalg.LinAlgError):
        grow(subject, [1], z, Q)
