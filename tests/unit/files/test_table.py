"""Rows that stay in their files."""

from __future__ import annotations

import os
import pickle

import numpy as np
import pytest

import widestreet as ws
from support.stored_rows import columns_of, write

pytest.importorskip("pyarrow")
X = np.random.default_rng(0).normal(size=(1000, 2))


@pytest.fixture
def stored(tmp_path):
    for k in range(2):
        write(tmp_path / f"part{k}.parquet", columns_of(X[600 * k : 600 * (k + 1)]))
    return ws.open_rows(tmp_path)[0]


def test_a_row_is_found_in_its_file(stored):
    assert stored.table.place(599).startswith("row 599 of ")
    assert stored.table.place(600).startswith("row 0 of ")
    assert stored.table.place(600).endswith("part1.parquet")


def test_iteration_yields_batches(stored):
    batches = list(stored)
    assert len(batches) == 2
    assert np.array_equal(np.concatenate(batches), X.astype(np.float32))
    assert all(batch.flags.c_contiguous for batch in batches)


def test_rows_can_be_pickled(stored):
    assert np.array_equal(pickle.loads(pickle.dumps(stored)).to_numpy(), X.astype(np.float32))


@pytest.mark.parametrize("change", ["time", "size", "gone"])
def test_a_file_that_changes_is_noticed(stored, change):
    stored.table.check_unchanged()
    path = stored.table.paths[1]
    if change == "time":
        os.utime(path, ns=(0, 0))
    elif change == "size":
        path.write_bytes(path.read_bytes() + b"more")
    else:
        path.unlink()
    with pytest.raises(RuntimeError, match=r"part1.parquet has changed since it was opened"):
        stored.table.check_unchanged()


FORMATS = ("parquet", "feather", "csv", "npy")


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("rows", [10, 5000, 0])
def test_a_file_that_is_replaced_between_two_batches_is_named(tmp_path, suffix, rows):
    """It becomes shorter, longer, or is removed, while an earlier file is read."""
    for k in range(2):
        write(tmp_path / f"part{k}.{suffix}", columns_of(X))
    stored, _ = ws.open_rows(tmp_path)
    path = tmp_path / f"part1.{suffix}"
    batches = stored.table.batches(100)
    assert stored.shape == (2000, 2)
    next(batches)
    path.unlink()  # a map of the old file stays valid
    if rows:
        write(path, columns_of(np.resize(X, (rows, 2))))
    with pytest.raises(RuntimeError, match=rf"part1.{suffix} has changed since it was opened"):
        list(batches)


def test_rows_that_are_more_than_were_counted_are_refused(stored, monkeypatch):
    """Before more rows are used than there is room for."""
    table, batches = stored.table, type(stored.table.kind).batches
    assert stored.shape == (1000, 2)

    def doubled(self, path, columns, size):
        for batch in batches(self, path, columns, size):
            yield batch
            yield batch

    monkeypatch.setattr(type(table.kind), "batches", doubled)
    found = table.batches(600)
    assert len(next(found)[0]) == 600
    with pytest.raises(RuntimeError, match=r"part0.parquet has changed since it was opened"):
        next(found)


def test_text_in_a_column_of_numbers_names_the_file(tmp_path):
    lines = ["a,b"] + ["1,2"] * 2_000_000 + ["1,two"]
    (tmp_path / "r.csv").write_text("\n".join(lines))
    stored, _ = ws.open_rows(tmp_path / "r.csv")
    with pytest.raises(ValueError, match=r"r.csv cannot be read: .*'two'"):
        stored.to_numpy()
