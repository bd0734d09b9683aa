"""MNIST, of made-up files."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from widestreet._experiments.data import mnist
from widestreet._src import environment


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """A data directory, and no data but what a test writes."""
    monkeypatch.setenv(environment.DATA, str(tmp_path))
    monkeypatch.delenv(environment.DOWNLOAD, raising=False)
    (tmp_path / "deep").mkdir()
    return tmp_path


def test_mnist_is_read(folder):
    def idx(values):
        head = bytes([0, 0, 8, values.ndim]) + np.array(values.shape, ">i4").tobytes()
        return gzip.compress(head + values.astype(np.uint8).tobytes())

    for kind, labels in (("train", [3, 8, 1]), ("t10k", [8, 3])):
        pixels = np.arange(len(labels) * 4).reshape(-1, 2, 2)
        (folder / f"mnist-{kind}-images-idx3-ubyte.gz").write_bytes(idx(pixels))
        (folder / f"mnist-{kind}-labels-idx1-ubyte.gz").write_bytes(idx(np.array(labels)))
    split = mnist.load((3, 8), 10)
    assert split.y.tolist() == [3, 8]
    assert split.X[1].tolist() == [x / 255 for x in (4, 5, 6, 7)]
    assert split.y_test.tolist() == [8, 3]
