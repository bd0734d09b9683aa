"""The size of an ensemble, and training that ends when it is known."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from conftest import TOL
from support.noisy_labels import noisy
from widestreet._src.engines.budget import Budget
from widestreet._src.engines.multiplicative.ensemble_mean import best_size
from widestreet._src.engines.multiplicative.exponentiated_gradient import Projection
from widestreet._src.training.ensemble_plan import Pair, Plan
from widestreet._src.training.ensemble_size import Training

PLAN = Plan(
    pace=Projection(),
    aggregate="ensemble",
    rank=None,
    intercept=False,
    prune=0.0,
    part=0.005,
    memory=10**8,
    keep=True,
    folds=5,
)


def training(seed: int, **changes) -> Training:
    K, sign = noisy(seed=seed)
    return Training(
        pair=Pair(sign, np.ones(len(sign))),
        plan=replace(PLAN, **changes),
        product=lambda coef: coef @ K,
        length=np.ones(len(sign)),
        budget=Budget(),
        kernel_values=partial(int, 0),
    )


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_training_until_the_size_is_known_finds_the_same_ensemble(seed, intercept):
    path, size = training(seed, intercept=intercept).solve(lambda record: None)
    early, known = training(seed, intercept=intercept, until_chosen=True).solve(lambda record: None)
    assert known == size
    assert early.steps <= path.steps
    np.testing.assert_allclose(early.means[known][0], path.means[size][0], rtol=0, atol=TOL.twin)


def test_the_size_is_that_of_the_folds():
    found = training(0)
    path, size = found.solve(lambda record: None)
    errors = [one.errors for one in found.folds(path.margin)]
    assert len(errors) == 5
    assert size == best_size(sorted(path.means), errors)[0]


def test_without_folds_all_members_are_kept():
    path, size = training(0, folds=0, until_chosen=True).solve(lambda record: None)
    assert size == path.steps == max(path.means)
