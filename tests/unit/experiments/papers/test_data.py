"""Data of the papers, of made-up files."""

from __future__ import annotations

import numpy as np
import pytest

from widestreet._experiments.harness.task import Split
from widestreet._experiments.papers import data
from widestreet._src import environment


def test_tables_with_months_and_days(tmp_path, monkeypatch):
    monkeypatch.setenv(environment.DATA, str(tmp_path))
    (tmp_path / "fires.csv").write_text("x,month,y,day\n1,mar,5,sun\n3,jan,9,mon\n2,dec,7,tue\n")
    data.columns.cache_clear()
    X, y = data.columns("fires.csv")
    assert X.tolist() == [[1, 3, 7], [3, 1, 1], [2, 12, 2]]
    assert y.tolist() == [5, 9, 7]
    split = data.pool("fires.csv", 2.0, 10)
    assert split.y.tolist() == [2.5, 4.5, 3.5]
    assert split.X.min(axis=0).tolist() == [0, 0, 0]
    assert split.X.max(axis=0) == pytest.approx(1)
    assert len(data.pool("fires.csv", 1.0, 2).y) == 2
    (tmp_path / data.YEAR).write_text("2001,1.5,2\n1990,2.5,3\n")
    assert data.columns(data.YEAR)[1].tolist() == [2001, 1990]


def test_images_are_shifted_by_a_pixel():
    image = np.arange(data.SIDE**2).reshape(1, -1)
    square = image.reshape(data.SIDE, data.SIDE)
    down = data.shifted(image, 1, 0).reshape(data.SIDE, data.SIDE)
    assert np.array_equal(down[1:], square[:-1])
    assert not down[0].any()
    left = data.shifted(image, 0, -1).reshape(data.SIDE, data.SIDE)
    assert np.array_equal(left[:, :-1], square[:, 1:])
    assert not left[:, -1].any()
    assert np.array_equal(data.shifted(image, 0, 0), image)


def test_zeros_and_ones(monkeypatch):
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 4)
    X = rng.integers(0, 255, (12, data.SIDE**2))
    monkeypatch.setattr(data.mnist, "digits", lambda: (X, y, X, y))
    split = data.zero_one(1000)
    assert split.X.shape == (40, data.SIDE**2)
    assert split.X_test.shape == (8, data.SIDE**2)
    assert set(split.y) == {-1, 1}
    assert split.X.max() <= 1
    labels = data.digit_labels(1000)
    assert set(labels.y) == {0, 1 / 9, 2 / 9}


def test_rows_of_kdd99_are_kept_apart(monkeypatch):
    same = Split(np.ones((6, 3)), np.ones(6), np.ones((2, 3)), np.ones(2))
    monkeypatch.setattr(data.kdd99, "load", lambda n, test_rows: same)
    split = data.kdd99_apart(6)
    assert len(np.unique(split.X, axis=0)) == 6
    assert split.X_test.shape == (2, 4)


def test_forests_and_news(monkeypatch):
    rng = np.random.default_rng(0)
    n = 20_000
    X, y = rng.random((n, 3)), rng.integers(1, 8, n)
    monkeypatch.setattr(data.covtype, "scaled", lambda: (X, y))
    assert set(np.unique(data.forest_labels(500).y)) == {i / 6 for i in range(7)}
    assert set(np.unique(data.forest_class(500).y)) == {-1, 1}
    labels = rng.integers(1, 21, n)
    monkeypatch.setattr(data, "svmlight", lambda name, features: (X, labels))
    assert set(np.unique(data.news_groups((1, 2), 500).y)) == {-1, 1}


def test_generated_sets_are_always_the_same():
    for load in (data.friedman, lambda n: data.two_gaussians(1.5, n)):
        first, again = load(50), load(50)
        assert np.array_equal(first.X, again.X)
        assert len(first.y) == 50
    y = data.two_gaussians(1.5, 51).y
    assert abs(y.sum()) == 1
