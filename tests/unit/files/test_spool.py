"""Rows in random order on disk."""

from __future__ import annotations

import numpy as np
import pytest

from widestreet._src.files.spool import Encoder, spooled
from widestreet._src.rows.census import Census

ROWS = 3000
X = np.arange(2.0 * ROWS).reshape(ROWS, 2)
LABEL = np.array(["b", "c", "a"])[np.arange(ROWS) * 3 // ROWS]  # sorted by label
WEIGHT = np.arange(ROWS) % 4 / 2.0


def batches(X=X, y=LABEL, weight=WEIGHT, size=170):
    for a in range(0, len(X), size):
        at = slice(a, a + size)
        yield X[at], None if y is None else y[at], None if weight is None else weight[at]


def refuse(census: Census) -> None:
    raise ValueError(f"{census.fault.what} in row {census.fault.row}")


@pytest.fixture
def spool(tmp_path):
    made = []

    def make(given, *, labels=True, weighted=True, block_rows=400, buffer_bytes=4000):
        made.append(
            spooled(
                given,
                rows=ROWS,
                columns=2,
                dtype=np.dtype(np.float64),
                labels=labels,
                weighted=weighted,
                scratch=tmp_path,
                block_rows=block_rows,
                buffer_bytes=buffer_bytes,
                rng=np.random.default_rng(0),
                extra={},
                check=refuse,
            )
        )
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.mark.parametrize("block_rows", [30, 400, 10_000])
@pytest.mark.parametrize("buffer_bytes", [1, 4000, 10**6])
def test_every_row_is_in_one_block(spool, block_rows, buffer_bytes):
    stored = spool(batches(), block_rows=block_rows, buffer_bytes=buffer_bytes)
    blocks = range(len(stored.sizes))
    origin = np.concatenate([stored.read("origin", k) for k in blocks])
    assert np.array_equal(np.sort(origin), np.flatnonzero(WEIGHT))
    rows = np.concatenate([stored.read("X", k).reshape(-1, 2) for k in blocks])
    assert np.array_equal(rows, X[origin])
    weights = np.concatenate([stored.weight(k) for k in blocks])
    assert np.array_equal(weights, WEIGHT[origin])
    assert stored.classes.tolist() == ["a", "b", "c"]
    code = np.concatenate([stored.target(k) for k in blocks])
    assert np.array_equal(stored.classes[code], LABEL[origin])
    assert stored.census.rows == ROWS


def test_blocks_of_sorted_rows_are_mixed(spool):
    stored = spool(batches(weight=None), weighted=False)
    assert stored.sizes.tolist() == [375] * 8
    counts = np.array([np.bincount(stored.target(k), minlength=3) for k in range(8)])
    assert counts.min() > 80  # of 125 expected
    assert counts.sum() == ROWS


def test_targets_stay_as_exact_as_they_are(spool):
    y = np.random.default_rng(0).normal(size=ROWS)
    stored = spool(batches(y=y, weight=None), labels=False, weighted=False)
    for k in range(8):
        assert np.array_equal(stored.target(k), y[stored.read("origin", k)])
        assert np.array_equal(stored.weight(k), np.ones(375))
    assert stored.classes is None


def test_without_targets(spool):
    stored = spool(batches(y=None), labels=False)
    assert stored.sizes.sum() == np.count_nonzero(WEIGHT)


def test_invalid_values_end_the_pass(spool):
    bad = X.copy()
    bad[2001, 1] = np.nan
    with pytest.raises(ValueError, match="NaN in row 2001"):
        spool(batches(bad))


def test_labels_are_numbered_as_they_come():
    encoder = Encoder()
    assert encoder(np.array([3, 1, 3])).tolist() == [1, 0, 1]
    assert encoder(np.array([2, 3])).tolist() == [2, 1]
    classes, position = encoder.sorted()
    assert classes.tolist() == [1, 2, 3]
    assert position.tolist() == [0, 2, 1]
