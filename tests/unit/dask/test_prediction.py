"""Predictions for collections: what they are, and that nothing is computed before it is asked."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

pytest.importorskip("dask", reason="dask is not installed")
pytest.importorskip("distributed", reason="distributed is not installed")

import dask
import dask.array as da
import dask.dataframe as dd

import widestreet as ws
from conftest import TOL
from widestreet._src.dask.prediction import ACCURACY, DETERMINATION, predicted
from widestreet.datasets import friedman, twonorm

pytestmark = pytest.mark.filterwarnings("ignore:Running on a single-machine scheduler")

X, Y = twonorm(90, random_state=0)
FRAME = pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])], index=10 * np.arange(90))
NAMED = ws.SVC().fit(FRAME, np.where(Y > 0, "up", "down"))
PLAIN = ws.SVC().fit(X, Y)
CLASSES = ws.SVC().fit(X, np.arange(90) % 3)


def computed(lazy):
    return dask.compute(lazy, scheduler="sync")[0]


def test_arrays_give_arrays():
    far = da.from_array(X, chunks=(40, 7))
    lazy = predicted(PLAIN, "predict", far)
    assert isinstance(lazy, da.Array)
    assert lazy.chunks == ((40, 40, 10),)
    assert lazy.dtype == Y.dtype
    assert np.array_equal(computed(lazy), PLAIN.predict(X))
    values = predicted(CLASSES, "decision_function", far)
    assert values.shape == (90, 3)
    assert np.array_equal(computed(values), CLASSES.decision_function(X))


def test_frames_give_series_with_their_index():
    far = dd.from_pandas(FRAME, npartitions=3)
    lazy = predicted(NAMED, "predict", far)
    assert isinstance(lazy, dd.Series)
    found = computed(lazy)
    assert found.index.equals(FRAME.index)
    assert np.array_equal(found, NAMED.predict(FRAME))


@pytest.mark.parametrize(
    ("model", "far", "match"),
    [
        (PLAIN, da.from_array(X[:, :7]), "X has 7 features, but SVC is expecting 20"),
        (NAMED, dd.from_pandas(FRAME[["c1", "c0"]], npartitions=2), "feature names"),
        (NAMED, dd.from_pandas(FRAME[FRAME.columns[::-1]], npartitions=2), "feature names"),
        (PLAIN, dd.from_pandas(FRAME[["c1"]], npartitions=2), "X has 1 features"),
        (PLAIN, dd.from_pandas(FRAME["c1"], npartitions=2), "X must have two dimensions, got 1"),
        (PLAIN, da.from_array(Y), "X must have two dimensions, got 1"),
    ],
)
def test_wrong_columns_are_refused_at_once(model, far, match):
    with pytest.raises(ValueError, match=match):
        predicted(model, "predict", far)


def test_several_values_for_each_row_give_a_frame():
    model = ws.SVC().fit(FRAME, np.arange(90) % 3)
    lazy = predicted(model, "decision_function", dd.from_pandas(FRAME, npartitions=2))
    found = computed(lazy)
    assert found.shape == (90, 3)
    assert np.array_equal(found.to_numpy(), model.decision_function(FRAME))


def test_chunks_of_unknown_size_and_empty_ones_are_fine():
    frame = dd.from_pandas(FRAME, npartitions=3)
    frame = frame[frame["c0"] > frame["c0"].min()]
    far = frame.to_dask_array()
    found = computed(predicted(PLAIN, "predict", far))
    assert len(found) == 89
    nothing = da.from_array(X, chunks=((0, 90), 20))
    assert len(computed(predicted(PLAIN, "predict", nothing))) == 90


def test_lists_give_lists_and_may_be_sparse():
    parts = [dask.delayed(sparse.csr_matrix(X[:30])), dask.delayed(sparse.csr_matrix(X[30:]))]
    lazy = predicted(PLAIN, "predict", parts)
    assert np.array_equal(np.concatenate(computed(lazy)), PLAIN.predict(X))
    assert np.array_equal(computed(predicted(PLAIN, "predict", parts[0])), PLAIN.predict(X[:30]))


def test_the_model_is_one_node():
    lazy = predicted(PLAIN, "predict", da.from_array(X, chunks=(10, 20)))
    models = [key for key in lazy.__dask_graph__() if "widestreet-model" in str(key)]
    assert len(models) == 1


def test_nothing_is_computed_before_it_is_asked():
    @dask.delayed
    def fail():
        raise AssertionError("computed")

    lazy = predicted(PLAIN, "predict", [fail()])
    with pytest.raises(AssertionError, match="computed"):
        computed(lazy)


def test_arrays_must_have_two_dimensions():
    with pytest.raises(ValueError, match="X must have two dimensions, got 1"):
        predicted(PLAIN, "predict", da.from_array(Y))


@pytest.mark.parametrize("weighted", [False, True])
def test_scores_are_those_of_all_rows(weighted, rng):
    ends = [20, 20, 70]
    weight = rng.random(90) if weighted else None
    weights = np.split(weight, ends) if weighted else [None] * 4
    target = 3.0 + friedman(90, random_state=1)[1]
    models = [(PLAIN, Y, ACCURACY), (ws.SVR().fit(X, target), target, DETERMINATION)]
    for model, y, kind in models:
        parts = zip(np.split(X, ends), np.split(y, ends), weights, strict=True)
        found = kind.of_all([kind.of_part(*part, model) for part in parts])
        assert abs(found - model.score(X, y, weight)) <= TOL.twin


def test_a_constant_target_has_the_score_of_scikit_learn():
    model = ws.SVR().fit(X, Y)
    flat = np.ones(90)
    parts = [DETERMINATION.of_part(X, flat, None, model)]
    assert DETERMINATION.of_all(parts) == model.score(X, flat)
