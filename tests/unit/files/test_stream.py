"""Rows, targets and weights in step."""

from __future__ import annotations

import os

import numpy as np
import pytest

import widestreet as ws
from support.stored_rows import columns_of, write
from widestreet._src.files.stream import Stream

pytest.importorskip("pyarrow")
X = np.random.default_rng(0).normal(size=(1000, 2))
Y, WEIGHT = np.arange(1000), np.arange(1000) / 7.0


@pytest.fixture
def opened(tmp_path):
    path = write(tmp_path / "rows.parquet", columns_of(X, Y, WEIGHT))
    return ws.open_rows(path, "label", weight="weight", dtype="float64")


def joined(stream):
    parts = list(stream.batches(300))
    assert len(parts) > 1
    return [None if p[0] is None else np.concatenate(p) for p in zip(*parts, strict=True)]


def test_columns_of_the_same_files_or_arrays(opened):
    rows, y, weight = opened
    for target in (y, Y, Y.tolist()):
        for weights in (weight, WEIGHT):
            found = joined(Stream(rows, target, weights))
            for mine, wanted in zip(found, (X, Y, WEIGHT), strict=True):
                assert np.array_equal(mine, wanted)
    assert [v is None for v in joined(Stream(rows))] == [False, True, True]
    assert np.array_equal(joined(Stream(rows, None, 2.0))[2], np.full(1000, 2.0))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16, np.bool_])
def test_memory_maps_of_every_type(opened, tmp_path, dtype):
    np.save(tmp_path / "X.npy", (10 * X).astype(dtype))
    stream = Stream(np.load(tmp_path / "X.npy", mmap_mode="r"), Y)
    assert stream.dtype == (np.float32 if dtype is np.float32 else np.float64)
    found = joined(stream)
    assert found[0].dtype == stream.dtype
    assert np.array_equal(found[0], (10 * X).astype(dtype))
    assert stream.place(7) == "row 7"
    assert stream.names is None


def test_a_file_that_changes_while_it_is_read(opened):
    rows, y, _ = opened
    batches = Stream(rows, y).batches(300)
    next(batches)
    os.utime(rows.table.paths[0], ns=(0, 0))
    with pytest.raises(RuntimeError, match="has changed since it was opened"):
        list(batches)


@pytest.mark.parametrize("mode", ["r", "r+", "c"])
def test_a_map_keeps_what_was_written_to_it(tmp_path, mode):
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode=mode)
    if mode != "r":
        mapped[5] = 7.0
    wanted = np.array(mapped)
    found = [batch[0] for batch in Stream(mapped).batches(100)]
    assert np.array_equal(np.concatenate(found), wanted)
    assert np.array_equal(mapped, wanted)
