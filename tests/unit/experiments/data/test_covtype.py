"""Forest cover types, of a made-up file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from widestreet._experiments.data import covtype
from widestreet._src import environment


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """A data directory, and no data but what a test writes."""
    monkeypatch.setenv(environment.DATA, str(tmp_path))
    monkeypatch.delenv(environment.DOWNLOAD, raising=False)
    (tmp_path / "deep").mkdir()
    return tmp_path


def test_covtype_is_unpacked_and_scaled(folder, monkeypatch):
    n = 40
    rng = np.random.default_rng(0)
    wilderness, soil = rng.integers(1, 5, n), rng.integers(1, 41, n)
    numbers = rng.integers(-100, 100, (n, 10)).astype(np.int16)
    y = rng.integers(1, 8, n)
    np.savez(folder / "covtype.npz", X_num=numbers, wilderness=wilderness, soil=soil, y=y)
    X, found = covtype.rows()
    assert X.shape == (n, 54)
    assert (X[:, 10:14].argmax(axis=1) == wilderness - 1).all()
    assert (X[:, 14:].argmax(axis=1) == soil - 1).all()
    assert found.tolist() == y.tolist()
    monkeypatch.setattr(covtype, "part", lambda X, y, n: (X, y))
    X, found = covtype.load(2, n)
    assert X.min() == 0
    assert X.max() == 1
    assert ((found == 1) == (y == 2)).all()
