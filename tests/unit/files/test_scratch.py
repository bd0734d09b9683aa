"""Arrays on disk, and disks that are too small."""

from __future__ import annotations

import errno
import os
import shutil

import numpy as np
import pytest

from widestreet._src.files import scratch as module
from widestreet._src.files.scratch import Scratch

ARRAYS = {"X": (np.dtype(np.float32), 3), "y": (np.dtype(np.float64), 1)}


@pytest.fixture(params=["positioned", "by seeking"])
def file(request, tmp_path, monkeypatch):
    if request.param == "by seeking":
        monkeypatch.delattr(os, "preadv", raising=False)
        monkeypatch.delattr(os, "pwritev", raising=False)
    made = Scratch(tmp_path, 5000, ARRAYS)
    yield made
    made.close()


def test_arrays_are_read_as_they_were_written(file, rng):
    X, y = rng.random((5000, 3), dtype=np.float32), rng.random(5000)
    for a in range(0, 5000, 999):
        file.write("y", a, y[a : a + 999])
        file.write("X", a, X[a : a + 999])
    assert np.array_equal(file.read("X", 0, 5000), X)
    assert np.array_equal(file.read("X", 17, 1234), X[17:1234])
    assert np.array_equal(file.read("y", 4990, 5000), y[4990:])
    assert file.bytes_written == X.nbytes + y.nbytes
    assert file.bytes_read == X.nbytes + 1217 * 12 + 80


def test_what_was_never_written_is_zero(file):
    file.write("X", 10, np.ones((1, 3)))
    assert np.array_equal(file.read("y", 0, 5000), np.zeros(5000))
    assert np.array_equal(file.read("X", 9, 12).sum(axis=1), [0.0, 3.0, 0.0])


def test_no_rows_are_no_bytes(file):
    file.write("X", 0, np.empty((0, 3)))
    assert file.read("X", 5, 5).shape == (0, 3)
    assert file.read("y", 5, 5).shape == (0,)


def test_the_file_has_no_name(file, tmp_path):
    file.write("y", 0, np.ones(5000))
    assert list(tmp_path.iterdir()) == []


def test_a_small_disk_is_refused_before_anything_is_written(tmp_path, monkeypatch):
    usage = shutil.disk_usage(tmp_path)._replace(free=1000)
    monkeypatch.setattr(module.shutil, "disk_usage", lambda path: usage)
    with pytest.raises(
        OSError, match=r"has 1,000 bytes free, but the rows need 102,400 .*scratch="
    ):
        Scratch(tmp_path, 5000, ARRAYS)


def test_a_disk_that_fills_up_names_scratch(file, monkeypatch):
    def full(*arguments):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(file, "_write_from", full)
    with pytest.raises(OSError, match="pass scratch= a directory on a larger disk"):
        file.write("y", 0, np.ones(5))


def test_the_directory_must_exist(tmp_path):
    with pytest.raises(FileNotFoundError, match="scratch must be an existing directory"):
        Scratch(tmp_path / "none", 10, ARRAYS)


def test_scratch_that_is_no_path_is_named():
    with pytest.raises(TypeError, match="scratch must be the path of a directory or None, got 3"):
        Scratch(3, 1, {"X": (np.dtype(np.float64), 1)})
