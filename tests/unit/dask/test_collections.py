"""What users may pass to a fit on a cluster."""

from __future__ import annotations

import numpy as np
import pytest

dask = pytest.importorskip("dask", reason="dask is not installed")
pytest.importorskip("distributed", reason="distributed is not installed")

import dask.array as da  # noqa: E402
import dask.dataframe as dd  # noqa: E402
import pandas as pd  # noqa: E402

from widestreet._src.dask.collections import Partitions, is_collection  # noqa: E402

X = np.arange(24.0).reshape(12, 2)
Y = np.arange(12) % 2
FRAME = pd.DataFrame(X, columns=["a", "b"]).assign(y=Y)


def computed(parts):
    return [np.asarray(part) for part in dask.compute(*parts, scheduler="sync")]


def test_arrays_become_one_part_per_chunk_of_rows():
    found = Partitions.of(da.from_array(X, chunks=(5, 1)), da.from_array(Y, chunks=5))
    assert [len(part) for part in computed(found.X)] == [5, 5, 2]
    assert [part.shape[1] for part in computed(found.X)] == [2, 2, 2]
    assert np.array_equal(np.concatenate(computed(found.y)), Y)
    assert found.weight is None
    assert found.names is None


def test_frames_keep_the_names_of_their_columns():
    frame = dd.from_pandas(FRAME, npartitions=3)
    found = Partitions.of(frame[["a", "b"]], frame["y"], frame["y"])
    assert found.names == ["a", "b"]
    assert len(found) == len(found.y) == len(found.weight) == frame.npartitions
    assert np.array_equal(np.concatenate(computed(found.X)), X)


def test_lists_of_delayed_objects_are_partitions():
    parts = [dask.delayed(X[:5]), dask.delayed(X[5:])]
    found = Partitions.of(parts, [dask.delayed(Y[:5]), dask.delayed(Y[5:])], 2.0)
    assert [len(part) for part in computed(found.X)] == [5, 7]
    assert found.weight == 2.0
    assert type(Partitions.of(parts, None, np.float32(2.0)).weight) is float
    assert len(Partitions.of(dask.delayed(X))) == 1


def test_collections_of_several_kinds_go_together():
    frame = dd.from_pandas(FRAME, npartitions=2)
    assert len(Partitions.of(frame[["a", "b"]].to_dask_array(), frame["y"])) == 2


def test_what_is_a_collection():
    assert is_collection(da.from_array(X))
    assert is_collection([dask.delayed(X)])
    assert not is_collection(X)
    assert not is_collection([])
    assert not is_collection([[1.0, 2.0]])


def test_parameters_are_all_collections_or_none():
    far = da.from_array(Y, chunks=5)
    with pytest.raises(TypeError, match="X is of type ndarray and y is a Dask collection"):
        Partitions.of(X, far)
    with pytest.raises(TypeError, match="y is of type list and X is a Dask collection"):
        Partitions.of(da.from_array(X, chunks=5), Y.tolist())
    with pytest.raises(TypeError, match="sample_weight is of type ndarray"):
        Partitions.of(da.from_array(X, chunks=(5, 2)), far, Y)


def test_the_first_partition_that_differs_is_named():
    rows = da.from_array(X, chunks=((5, 5, 2), 2))
    with pytest.raises(ValueError, match="partition 1 has 5 rows of X and 4 of y"):
        Partitions.of(rows, da.from_array(Y, chunks=((5, 4, 3),)))
    with pytest.raises(ValueError, match="X has 3 partitions and y has 2"):
        Partitions.of(rows, [dask.delayed(Y[:5]), dask.delayed(Y[5:])])


@pytest.mark.parametrize(
    ("rows", "error", "match"),
    [
        (da.from_array(Y, chunks=5), ValueError, "X must have two dimensions, got 1"),
        (dd.from_pandas(FRAME, npartitions=2)["a"], TypeError, "X is a Dask series"),
    ],
)
def test_rows_are_tables(rows, error, match):
    with pytest.raises(error, match=match):
        Partitions.of(rows)
