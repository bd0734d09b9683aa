"""Synthetic problems: the distributions they claim, the same rows for the same seed."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special

from conftest import TOL
from widestreet import datasets
from widestreet.datasets import checkerboard, friedman, ringnorm, twonorm

GENERATORS = (checkerboard, twonorm, ringnorm, friedman)
N = 20_000

every_generator = pytest.mark.parametrize("generate", GENERATORS, ids=lambda g: g.__name__)


def test_all_are_listed():
    assert set(datasets.__all__) == {g.__name__ for g in GENERATORS}


@every_generator
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_shapes_and_types(generate, dtype):
    X, y = generate(100, random_state=0, dtype=dtype)
    assert X.dtype == dtype
    assert X.shape == (100, {checkerboard: 2, friedman: 10}.get(generate, 20))
    assert X.flags.c_contiguous
    assert np.isfinite(X).all()
    assert y.shape == (100,)
    if generate is friedman:
        assert y.dtype == np.float64
    else:
        assert y.dtype == np.int64
        assert set(np.unique(y)) == {-1, 1}


@every_generator
def test_seeds(generate):
    X, y = generate(50, random_state=3)
    for same in (3, np.random.default_rng(3)):
        again = generate(50, random_state=same)
        assert np.array_equal(again[0], X)
        assert np.array_equal(again[1], y)
    assert not np.array_equal(generate(50, random_state=4)[0], X)
    assert not np.array_equal(generate(50)[0], generate(50)[0])
    rng = np.random.default_rng(3)
    generate(50, random_state=rng)
    assert not np.array_equal(generate(50, random_state=rng)[0], X)  # a generator moves on


@every_generator
@pytest.mark.parametrize("dtype", [np.int64, np.float16, np.complex128, "str"])
def test_other_types(generate, dtype):
    with pytest.raises(ValueError, match="dtype must be float32 or float64"):
        generate(5, dtype=dtype)


@every_generator
def test_one_row_and_none(generate):
    assert len(generate(1, random_state=0)[0]) == 1
    assert len(generate(0, random_state=0)[1]) == 0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_checkerboard(dtype):
    X, y = checkerboard(N, random_state=0, dtype=dtype)
    assert X.min() >= 0
    assert X.max() < 4
    cell = np.floor(X).astype(int)
    assert np.array_equal(y == 1, cell.sum(axis=1) % 2 == 0)
    share = np.bincount(cell[:, 0] * 4 + cell[:, 1], minlength=16) / N
    assert share == pytest.approx(np.full(16, 1 / 16), abs=TOL.sampled)


@pytest.mark.parametrize("d", [2, 20])
def test_twonorm(d):
    X, y = twonorm(N, d, random_state=0)
    assert X.shape == (N, d)
    for label in (-1, 1):
        mine = X[y == label]
        assert mine.mean(axis=0) == pytest.approx(np.full(d, 2 * label / d**0.5), abs=TOL.sampled)
        assert np.cov(mine.T) == pytest.approx(np.eye(d), abs=2 * TOL.sampled)
    assert (y == 1).mean() == pytest.approx(0.5, abs=TOL.sampled)
    wrong = (X.sum(axis=1) * y < 0).mean()
    assert wrong == pytest.approx(special.ndtr(-2), abs=TOL.sampled)


def test_ringnorm():
    X, y = ringnorm(N, 5, random_state=0)
    wide, narrow = X[y == 1], X[y == -1]
    assert wide.mean(axis=0) == pytest.approx(np.zeros(5), abs=2 * TOL.sampled)
    assert wide.std(axis=0) == pytest.approx(np.full(5, 2.0), abs=2 * TOL.sampled)
    assert narrow.mean(axis=0) == pytest.approx(np.full(5, 2 / 5**0.5), abs=TOL.sampled)
    assert narrow.std(axis=0) == pytest.approx(np.ones(5), abs=TOL.sampled)


def test_friedman():
    X, y = friedman(N, random_state=0)
    assert X.min() >= 0
    assert X.max() < 1
    x = X.T
    signal = 10 * np.sin(np.pi * x[0] * x[1]) + 20 * (x[2] - 0.5) ** 2 + 10 * x[3] + 5 * x[4]
    noise = y - signal
    assert noise.mean() == pytest.approx(0, abs=TOL.sampled)
    assert noise.std() == pytest.approx(1, abs=TOL.sampled)
    for column in x[5:]:
        assert np.corrcoef(column, y)[0, 1] == pytest.approx(0, abs=TOL.sampled)
