"""Shards: what they are told is what they hold, and what they forget is computed again."""

from __future__ import annotations

import numpy as np
import pytest

from conftest import TOL
from reference.duals import MODELS
from support.shard_lab import KERNELS, ShardLab, assert_scores
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.kernels import RBF, Poly, Sigmoid
from widestreet._src.rows import as_rows
from widestreet._src.shards.columns import AllRows
from widestreet._src.shards.shard import Shard

pytestmark = pytest.mark.numeric


def test_starting_elsewhere_leaves_no_score_known():
    lab = ShardLab("one_class", "rbf", seed=6)
    lab.beta = lab.dual.feasible_point()
    lab.coef = lab.beta[0].copy()
    ids = np.flatnonzero(lab.coef)
    lab.model = lab.model.published(ids, lab.coef[ids], np.zeros(1), np.inf)
    survey = lab.survey()
    assert np.array_equal(lab.shard.memory.beta, lab.beta)
    assert survey.scanned == lab.rows
    assert_scores(lab.shard.memory.score, lab.score, lab.coef)


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_shard_that_forgets_gives_the_same_scores(kernel):
    lab = ShardLab("c_svc", kernel, seed=7)
    lab.change(0.5, 20)
    every = np.arange(lab.rows)
    lab.bring(every)
    lab.shard.forget()
    assert "memory" not in vars(lab.shard)
    lab.bring(every)
    assert_scores(lab.shard.memory.score, lab.score, lab.coef)


@pytest.mark.parametrize("model", MODELS)
def test_totals_are_those_of_the_coefficients(model):
    lab = ShardLab(model, "rbf", seed=8)
    dual, rows = lab.dual, lab.rng.permutation(lab.rows)[:50]
    beta = lab.beta[:, rows]
    linear, free = lab.shard.totals(lab.news, rows, beta)
    assert linear == pytest.approx(float((dual.target[:, rows] * beta).sum()), rel=TOL.twin)
    inside = (beta > dual.lower[:, rows]) & (beta < dual.upper[:, rows])
    assert free == np.count_nonzero(inside)


def test_norms_are_stored_if_they_differ_and_bound_changes(rng):
    X = rng.normal(size=(30, 3))
    dual = ShardLab("c_svc", "rbf", seed=9, rows=30).dual

    def norm(kernel):
        return Shard(AllRows(Gram(kernel, as_rows(X))), dual).norm

    assert norm(RBF(1.0)) is None  # all are one
    assert norm(Sigmoid(0.1, 0.0)) is None  # no row may be skipped
    found = norm(Poly(0.5, 1.0, 2))
    expected = np.abs(0.5 * np.square(X).sum(axis=1) + 1.0)
    np.testing.assert_allclose(found, expected, rtol=0, atol=TOL.scan_float32 * expected.max())
