"""Partitions read by workers: what is refused, and what is known of all of them."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

dask = pytest.importorskip("dask", reason="dask is not installed")

import dask.array as da  # noqa: E402
import dask.dataframe as dd  # noqa: E402

import widestreet as ws  # noqa: E402
from support.cluster import keys_of  # noqa: E402
from widestreet._src.dask.collections import Partitions  # noqa: E402
from widestreet._src.dask.gathering import gather  # noqa: E402
from widestreet._src.dask.reading import Reader  # noqa: E402
from widestreet._src.rows.census import Census  # noqa: E402

X = np.random.default_rng(0).normal(size=(20, 3))
Y = np.arange(20) % 3
W = 1.0 + np.arange(20)


def gathered(client, rows, y=None, weight=None, targets="labels", version=ws.__version__):
    estimator = {"labels": ws.SVC(), "numbers": ws.SVR(), "none": ws.OneClassSVM()}[targets]
    partitions = Partitions.of(rows, y, weight)
    reader = Reader(estimator, targets, partitions.names, version)
    return gather(client, partitions, reader, lambda: None)


def pieces(values, *ends):
    return [dask.delayed(part) for part in np.split(values, ends)]


def test_all_rows_are_summarised_and_empty_partitions_left_out(client):
    ends = 5, 5, 12
    found = gathered(client, pieces(X, *ends), pieces(Y, *ends), pieces(W, *ends))
    assert found.numbers == [0, 2, 3]
    assert found.sizes == [5, 7, 8]
    both, whole = Census.merged(found.censuses), Census.of(X, Y, W)
    assert both.rows == 20
    np.testing.assert_allclose(both.weighted.mean, whole.weighted.mean)
    assert np.array_equal(both.labels.classes, whole.labels.classes)
    rows, target, weight = found.local(lambda: None)
    assert np.array_equal(rows, X)
    assert np.array_equal(target, Y)
    assert np.array_equal(weight, W)
    assert keys_of(client) == []


def test_sparse_partitions_stay_sparse(client):
    parts = [dask.delayed(sparse.csr_matrix(part)) for part in np.split(X, [7])]
    found = gathered(client, parts, pieces(Y, 7))
    rows, _, weight = found.local(lambda: None)
    assert sparse.issparse(rows)
    assert np.array_equal(rows.toarray(), X)
    assert weight is None


def test_chunks_of_unknown_size_are_counted(client):
    frame = pd.DataFrame(X, columns=list("abc")).assign(y=Y)
    far = dd.from_pandas(frame, npartitions=3)
    found = gathered(client, far[list("abc")].to_dask_array(), far["y"])
    assert sum(found.sizes) == 20
    found.release()
    assert keys_of(client) == []


def with_a(value, k=17):
    spoilt = X.astype(object) if isinstance(value, str) else X.copy()
    spoilt[k, 1] = value
    return pd.DataFrame(spoilt, columns=list("abc"))


def frames(frame):
    return [dask.delayed(frame.iloc[:10]), dask.delayed(frame.iloc[10:])]


@pytest.mark.parametrize(
    ("rows", "y", "error", "match"),
    [
        (frames(with_a(np.nan)), pieces(Y, 10), ValueError,
         "partition 1: X contains NaN in column 'b'"),
        (frames(with_a(np.inf, 3)), pieces(Y, 10), ValueError, "partition 0: X contains infinity"),
        (frames(with_a("high")), pieces(Y, 10), ValueError,
         "partition 1: X contains text such as 'high' in column 'b'"),
        (pieces(X, 10), pieces(Y, 9), ValueError, "partition 0 has 10 rows of X and 9 of y"),
        ([dask.delayed(X[:10]), dask.delayed(sparse.csr_matrix(X[10:]))], pieces(Y, 10), TypeError,
         "partition 1 of X is sparse and partition 0 is dense"),
        ([dask.delayed(X[:10]), dask.delayed(X[10:, :2])], pieces(Y, 10), ValueError,
         "partition 1 of X has 2 columns and partition 0 has 3"),
        (pieces(X[:0], 0), pieces(Y[:0], 0), ValueError, "all partitions are empty"),
        (pieces(X, 10), [dask.delayed(Y[:10]), dask.delayed(np.where(Y[10:] > 1, np.nan, 1.0))],
         ValueError, "partition 1: .*NaN"),
    ],
)  # fmt: skip
def test_the_first_partition_that_is_wrong_is_named(client, rows, y, error, match):
    with pytest.raises(error, match=match):
        gathered(client, rows, y)
    assert keys_of(client) == []


def test_weights_are_checked_where_they_are(client):
    with pytest.raises(
        ValueError, match="partition 1: sample_weight must not be negative, but it is in row"
    ):
        gathered(client, pieces(X, 10), pieces(Y, 10), pieces(np.where(W > 15, -1.0, 1.0), 10))


def test_a_frame_must_be_what_its_meta_says(client):
    frame = pd.DataFrame(X, columns=list("abc"))
    parts = [dask.delayed(frame), dask.delayed(frame[["c", "b", "a"]])]
    far = dd.from_delayed(parts, meta=frame.iloc[:0], verify_meta=False)
    with pytest.raises(ValueError, match=r"partition 1: X has the columns \['c', 'b', 'a'\]"):
        gathered(client, far, targets="none")


def test_workers_with_another_version_are_named(client):
    with pytest.raises(RuntimeError, match=r"worker tcp://.* has widestreet .*, the client has 9"):
        gathered(client, pieces(X, 10), pieces(Y, 10), version="9")


def test_targets_of_regressors_are_numbers(client):
    with pytest.raises(ValueError, match="partition 0: y contains text"):
        gathered(client, pieces(X, 10), pieces(np.array(["a", "b"] * 10), 10), targets="numbers")


def test_a_look_at_the_clock_may_end_it(client):
    def stop():
        raise KeyboardInterrupt

    reader = Reader(ws.SVC(), "labels", None, ws.__version__)
    wait = partial(gather, client, Partitions.of(da.from_array(X), da.from_array(Y)), reader)
    with pytest.raises(KeyboardInterrupt):
        wait(stop)
    assert keys_of(client) == []
