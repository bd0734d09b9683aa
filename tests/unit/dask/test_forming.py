"""Stations made of partitions."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse

pytest.importorskip("dask", reason="dask is not installed")
pytest.importorskip("distributed", reason="distributed is not installed")

import dask

import widestreet as ws
from support.cluster import keys_of
from widestreet._src.dask.collections import Partitions
from widestreet._src.dask.forming import Form, stations_of
from widestreet._src.dask.gathering import gather
from widestreet._src.dask.port import StationBlocks
from widestreet._src.dask.reading import Part, Reader
from widestreet._src.rows import as_rows
from widestreet._src.rows.labels import Labels

X = np.random.default_rng(0).normal(size=(20, 3))
Y = np.array(["a", "b", "c", "d"] * 5)
LABELS = Labels.of(np.array(["a", "c"]), np.ones(2))


def gathered(client, ends):
    parts = [dask.delayed(part) for part in np.split(X, ends)]
    labels = [dask.delayed(part) for part in np.split(Y, ends)]
    reader = Reader(ws.SVC(), "labels", None, ws.__version__)
    return gather(client, Partitions.of(parts, labels), reader, lambda: None)


def contents(block):
    return block.number, block.origin, block.rows.data, block.target


def test_every_row_is_in_one_station_under_its_number(client, monkeypatch):
    from widestreet._src.dask import waiting

    workers_of, absent = waiting.workers_of, [{}, {}]  # workers may be gone for a while
    monkeypatch.setattr(
        waiting, "workers_of", lambda client: absent.pop() if absent else workers_of(client)
    )
    form = Form(as_rows(X[:0]), Labels.of(Y, np.ones(20)))
    stations = stations_of(gathered(client, [4, 7, 12]), form, lambda: None)
    assert not absent
    blocks = StationBlocks(stations)
    found = blocks.ask(contents, lambda: None)
    assert [number for number, *_ in found] == [0, 1]
    assert stations.sizes == [len(origin) for _, origin, _, _ in found]
    origin = np.concatenate([origin for _, origin, _, _ in found])
    assert np.array_equal(np.sort(origin), np.arange(20))
    assert np.array_equal(np.concatenate([rows for _, _, rows, _ in found]), X[origin])
    assert np.array_equal(np.concatenate([code for *_, code in found]), origin % 4)
    what, cure = stations._describe(0)
    assert what.startswith("partition")
    assert "partitions of at most" in cure
    blocks.close()
    assert keys_of(client) == []


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_parts_become_one_block(form):
    parts = [Part(form(X[:5]), Y[:5], None), Part(form(X[5:9]), Y[5:9], np.arange(4.0))]
    block = Form(as_rows(form(np.float32(X[:0]))), LABELS).block(3, [10, 50], parts)
    assert block.rows.data.dtype == np.float32
    assert block.rows.sparse == sparse.issparse(form(X))
    assert block.weight.tolist() == [1] * 5 + [0, 1, 2, 3]
    assert block.origin.tolist() == [10, 11, 12, 13, 14, 50, 51, 52, 53]
    assert set(block.target) <= {0, 1}
    assert block.target[[0, 2]].tolist() == [0, 1]
    assert block.number == 3


def test_targets_are_kept_and_missing_ones_are_zero():
    whole = Form(as_rows(X[:0]), None)
    assert whole.block(0, [0], [Part(X, None, None)]).target.tolist() == [0.0] * 20
    assert np.array_equal(whole.block(0, [0], [Part(X, X[:, 0], None)]).target, X[:, 0])


def test_one_large_partition_is_worth_a_warning(client, monkeypatch):
    from widestreet._src.dask import forming

    form = Form(as_rows(X[:0]), Labels.of(Y, np.ones(20)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        forming._warn_of_large(parts := gathered(client, [10]), 2)
    with pytest.warns(UserWarning, match="partition 1 has 16 of 20 rows"):
        forming._warn_of_large(large := gathered(client, [4]), 3)
    for some in (parts, large):
        some.release()
    assert form.labels is not None
