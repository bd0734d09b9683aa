"""The data of the race: how files become rows, on made-up files."""

from __future__ import annotations

import gzip
import lzma
from pathlib import Path

import numpy as np
import pytest

from benchmarks import files
from benchmarks.data import covtype, kdd99, mnist, news20, regression
from benchmarks.task import part, some
from widestreet.datasets import checkerboard


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """A data directory, and no data but what a test writes."""
    monkeypatch.setenv(files.DIRECTORY, str(tmp_path))
    monkeypatch.delenv(files.DOWNLOAD, raising=False)
    (tmp_path / "deep").mkdir()
    return tmp_path


def test_files_are_found_packed_or_not(folder):
    (folder / "one").write_text("1 1:0.5\n")
    with lzma.open(folder / "deep" / "two.xz", "wt") as file:
        file.write("-1 3:2\n1 1:1\n")
    for name, y in (("one", [1]), ("two", [-1, 1])):
        X, found = files.svmlight(name, 3)
        assert X.shape == (len(y), 3)
        assert found.tolist() == y
        assert X.indices.dtype == np.int32
    assert files.find("three") is None
    assert files.present(["one", "two"], fetched=False) is None
    assert "three" in files.present(["one", "three"], fetched=False)
    assert "--download" in files.present(["three"], fetched=True)


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


def test_kdd99_is_coded(folder):
    line = "{},{},http,SF," + ",".join(["0"] * 37) + ",{}.\n"
    with gzip.open(folder / "kddcup.data_10_percent.gz", "wt") as file:
        file.write(line.format(0, "tcp", "normal") + line.format(4, "udp", "smurf"))
    (folder / "corrected").write_text(line.format(2, "icmp", "normal"))
    split = kdd99.load(10)
    assert split.X.shape == (2, 38 + 2 + 1 + 1)
    assert split.y.tolist() == [1, -1]
    assert split.X[:, 0].tolist() == [0, 1]
    assert split.X[:, 1:3].tolist() == [[1, 0], [0, 1]]
    assert split.X_test[0, :3].tolist() == [0.5, 0, 0]  # a protocol that training never saw


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


def test_news20_rows_have_length_one(folder, monkeypatch):
    (folder / "news20").write_text("".join(f"{i % 3} {i + 1}:3 7:4\n" for i in range(6)))
    monkeypatch.setattr(news20, "HELD_OUT", 2)
    split = news20.load(100)
    assert split.X.shape == (4, 62_061)
    assert np.allclose(split.X.multiply(split.X).sum(axis=1), 1)


def test_parts_are_fixed_and_do_not_overlap():
    X, y = checkerboard(500, random_state=0)
    small_part, large_part = part(X, y, 100, 50), part(X, y, 400, 50)
    assert np.array_equal(small_part.X_test, large_part.X_test)
    rows = {tuple(row) for row in large_part.X}
    assert {tuple(row) for row in small_part.X} <= rows
    assert not rows & {tuple(row) for row in large_part.X_test}
    assert np.array_equal(some(X, y, 30)[0], some(X, y, 30)[0])
    assert some(X, y, 10**6)[0] is X
