"""The optimum by the path engine: it goes wherever rows, weights and parameters go."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from conftest import TOL
from support.online_states import N, optimum, rows
from support.settings import settings
from widestreet._src.estimators.online import path_optimum
from widestreet._src.estimators.online.path_optimum import PathOptimum, Remembered
from widestreet._src.status import Status

every_kind = pytest.mark.parametrize("kind", ["svc", "svr"])


def assert_solved_again(found: PathOptimum) -> None:
    """The optimum that the batch engine finds for the rows as they are."""
    again = PathOptimum(found.store, found.members, found.problem, settings())
    np.testing.assert_allclose(found.score, again.score, atol=TOL.decision)
    np.testing.assert_allclose(found.bias, again.bias, atol=TOL.decision)
    assert found.certificate(TOL.online).status == "optimal"


@every_kind
@pytest.mark.parametrize("new", [1, 3, 15])
def test_new_rows_by_the_path_and_many_by_the_batch_engine(kind, new):
    X, y = rows(kind)
    found = optimum(kind, N - new)
    found.add(found.store.add(X[N - new :], y[N - new :], np.ones(new)))
    assert_solved_again(found)
    assert len(found.members) == N


@every_kind
def test_straight_pieces_of_a_change_are_observed(kind):
    X, y = rows(kind)
    found = optimum(kind, N - 1)
    seen = []
    found.observe = lambda piece: seen.append((piece.theta, found.steps, found.coef))
    before = found.coef
    found.add(found.store.add(X[N - 1 :], y[N - 1 :], np.ones(1)))
    assert seen[0][0] == 0.0
    np.testing.assert_allclose(seen[0][2][:-1], before, atol=TOL.exact)
    assert [theta for theta, *_ in seen] == sorted({theta for theta, *_ in seen})
    steps = [count for _, count, _ in seen]
    assert steps == sorted(set(steps))
    assert_solved_again(found)


@every_kind
def test_weights_and_parameters_are_followed(kind):
    found = optimum(kind)
    found.store.weight[::3] = 0.25
    found.update()
    assert_solved_again(found)
    formulation = replace(found.problem.formulation, C=1.0)
    found.problem = replace(found.problem, formulation=formulation)
    found.update()
    assert_solved_again(found)
    assert found.steps > 0


@every_kind
def test_rows_of_no_weight_can_be_dropped(kind):
    found, gone = optimum(kind), np.array([0, 7, N - 1])
    found.store.weight[gone] = 0.0
    found.update()
    before = found.score.copy()
    members = found.members.copy()
    found.drop(gone)
    assert not np.isin(found.members, gone).any()
    place = {int(row): at for at, row in enumerate(members)}
    kept = [place[int(row)] for row in found.members]
    np.testing.assert_allclose(found.score, before[kept], atol=TOL.twin)


def test_a_known_optimum_is_taken_over():
    found = optimum("svc")
    again = PathOptimum(found.store, found.members, found.problem, settings(), found.beta)
    np.testing.assert_allclose(again.score, found.score, atol=TOL.twin)
    assert again.certificate(TOL.online).status == "optimal"


def test_ctrl_c_ends_the_first_fit(monkeypatch):
    """The batch engine returns what it has; the path does not continue from there."""
    found = optimum("svc")
    solve = path_optimum.train

    def interrupted(*given):
        trained = solve(*given)
        return replace(trained, solution=replace(trained.solution, status=Status.INTERRUPTED))

    monkeypatch.setattr(path_optimum, "train", interrupted)
    with pytest.raises(KeyboardInterrupt):
        PathOptimum(found.store, found.members, found.problem, settings())


def test_columns_asked_for_lately_are_kept():
    found = optimum("svc")
    kernel, counted = Remembered(found, 2), found.store.kernel_values
    for row in (0, 1, 0, 1):
        np.testing.assert_array_equal(
            kernel.block(np.array([row]), None), found.block(np.array([row]), None)
        )
    assert found.store.kernel_values - counted == (4 + 2) * N
