"""Regression sets, of made-up files."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from widestreet._experiments.data import regression
from widestreet._src import environment


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """A data directory, and no data but what a test writes."""
    monkeypatch.setenv(environment.DATA, str(tmp_path))
    monkeypatch.delenv(environment.DOWNLOAD, raising=False)
    (tmp_path / "deep").mkdir()
    return tmp_path


def test_regression_is_standardised(folder):
    rng = np.random.default_rng(0)
    values = rng.standard_normal((200, 3)) * [1, 10, 100] + 5
    text = "\n".join(",".join(map(str, row)) for row in values)
    with gzip.open(folder / "kin40k.csv.gz", "wt") as file:
        file.write(text)
    (folder / "cpusmall.csv").write_text("a,y,b\n" + text)
    for name, header, target in (("kin40k", False, 2), ("cpusmall", True, 1)):
        split = regression.load(name, header, 10**6)
        assert split.X.shape == (180, 2)
        assert split.X_test.shape == (20, 2)
        for values_of in (split.X, split.y):
            assert np.allclose(values_of.mean(axis=0), 0)
            assert np.allclose(values_of.std(axis=0), 1)
        everything = np.concatenate([split.y, split.y_test])
        assert abs(np.corrcoef(np.sort(everything), np.sort(values[:, target]))[0, 1]) > 0.999
