"""What rows make: one problem, or one for each pair of classes; and the model of their optima."""

from __future__ import annotations

import numpy as np
import pytest

from conftest import TOL
from support.online_states import FORMULATIONS, N, optimum, state
from widestreet._src.estimators.online.tasks import ClassTask, SingleTask


def test_targets_are_values_or_zeros():
    values, classes = SingleTask(has_targets=True).targets([1, 2.5], 2, None, None)
    assert values.tolist() == [1.0, 2.5]
    assert classes is None
    nothing, _ = SingleTask(has_targets=False).targets(None, 3, None, None)
    assert nothing.tolist() == [0.0, 0.0, 0.0]


def test_labels_are_numbered_among_all_classes_known_so_far():
    task, now = ClassTask(None), state("svc")
    now.classes = np.array([2, 8])
    code, every = task.targets(np.array([5, 2, 5]), 3, [9], now)
    assert every.tolist() == [2, 5, 8, 9]
    assert code.tolist() == [1.0, 0.0, 1.0]
    with pytest.raises(ValueError, match=r"labels such as 'a' .* labels such as 2; use one kind"):
        task.targets(np.array(["a", "b"]), 2, None, now)


def test_there_is_no_problem_without_weights():
    now = state("svr")
    task = SingleTask(has_targets=True)
    [(_, members)] = task.problems(now, FORMULATIONS["svr"]).values()
    assert members.tolist() == list(range(N))
    now.store.weight[:] = 0.0
    assert task.problems(now, FORMULATIONS["svr"]) == {}


def test_pairs_of_classes_that_have_rows_of_positive_weight():
    now = state("svc")
    now.classes = np.array([10, 20, 30, 40])
    now.store.target[:] = np.arange(N) % 4
    now.store.weight[now.store.target == 2] = 0.0
    found = ClassTask({20: 3.0}).problems(now, FORMULATIONS["svc"])
    assert list(found) == [(0, 1), (0, 3), (1, 3)]
    one, members = found[1, 3]
    assert (one.first, one.factors) == (1, (3.0, 1.0))
    assert set(now.store.target[members]) == {1.0, 3.0}


@pytest.mark.parametrize("kind", ["svc", "svr"])
def test_the_model_of_an_optimum(kind):
    now = state(kind)
    task = ClassTask(None) if kind == "svc" else SingleTask(has_targets=True)
    solutions = {key: one.solution for key, one in now.optima.items()}
    found = task.attributes(now, solutions, FORMULATIONS[kind], TOL.online)
    coef = optimum(kind).coef
    np.testing.assert_array_equal(np.sort(found["support_"]), np.flatnonzero(coef))
    np.testing.assert_allclose(found["dual_coef_"].sum(), coef.sum(), atol=TOL.decision)
    assert found["intercept_"].shape == (1,)


def test_a_pair_with_one_class_only_is_won_by_that_class():
    now = state("svc")
    now.store.target[:], now.optima = 1.0, {}
    found = ClassTask(None).attributes(now, {}, FORMULATIONS["svc"], TOL.online)
    assert found["intercept_"].tolist() == [1.0]
    assert len(found["support_"]) == 0
