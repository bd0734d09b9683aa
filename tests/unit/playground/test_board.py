"""Boards: points and models change together, or not at all."""

from __future__ import annotations

import numpy as np
import pytest

from conftest import TOL
from widestreet._src.playground import board as module
from widestreet._src.playground.board import Board
from widestreet._src.playground.examples import EXAMPLES, example
from widestreet._src.playground.machines import MACHINES, TABS
from widestreet._src.playground.path_learner import PathLearner


def make(tab="classification"):
    return Board(TABS[tab][0], example(tab, next(iter(EXAMPLES[tab]))))


@pytest.mark.parametrize("name", MACHINES)
def test_a_model_equals_a_refit_after_every_change(name):
    tab = next(tab for tab, names in TABS.items() if name in names)
    board = make(tab)
    board.use(name)
    first, second = board.points[5].id, board.points[9].id
    last = MACHINES[name].sliders[-2:][0]
    changes = [
        lambda: board.add(0.2, -0.3, 1),
        lambda: board.forget(first),
        lambda: board.move(second, -0.1, 0.25),
        lambda: board.set({last: 0.3}),
        lambda: board.set({"gamma": 2.0}),
        lambda: board.set({"kernel": "laplacian"}),
    ]
    for change in changes:
        change()
        refit, certificate = board.refit(), board.learner.certificate()
        assert refit.difference <= TOL.decision
        assert certificate.dual_objective == pytest.approx(refit.objective, rel=TOL.objective_rel)
        assert board.last.motion.coef.shape[1] == len(board.points) + len(board.last.left)


def test_ids_of_points_are_kept_and_never_used_again():
    board = make()
    ids = [p.id for p in board.points]
    board.move(ids[3], 0.0, 0.0)
    assert [p.id for p in board.points] == ids
    assert board.find(ids[3]).x == 0.0
    board.forget(ids[-1])
    board.add(0.1, 0.1, 0)
    assert board.points[-1].id > ids[-1]
    with pytest.raises(ValueError, match="there is no point"):
        board.find(ids[-1])


def test_a_change_that_fails_changes_nothing(monkeypatch):
    board = make()
    points, parameters = list(board.points), dict(board.parameters)
    certificate = board.learner.certificate()
    follow = PathLearner.change

    def failing(self, arriving, leaving, parameters):
        follow(self, arriving, leaving, parameters)
        if len(arriving) <= 1:  # not while the board is trained anew
            raise RuntimeError("the homotopy cycles")

    monkeypatch.setattr(PathLearner, "change", failing)
    changes = [
        lambda: board.add(0.2, -0.3, 1),
        lambda: board.forget(points[0].id),
        lambda: board.move(points[0].id, 0.0, 0.0),
        lambda: board.set({"C": 3.0}),
    ]
    for change in changes:
        with pytest.raises(RuntimeError, match="cycles"):
            change()
        assert board.points == points
        assert board.parameters == parameters
        assert board.learner.certificate().dual_objective == pytest.approx(
            certificate.dual_objective, rel=TOL.objective_rel
        )


def test_warnings_of_an_estimator_become_notes():
    board = Board("nu_svc", [(0.1 * k, 0.0, int(k == 0)) for k in range(10)])
    board.set({"nu": 0.9})
    assert any("infeasible" in note for note in board.last.notes)
    board.set({"nu": 0.1})
    assert board.last.notes == []


def test_the_number_of_points_is_limited(monkeypatch):
    board = make()
    monkeypatch.setattr(module, "MOST_POINTS", len(board.points))
    with pytest.raises(ValueError, match="at most"):
        board.add(0.0, 0.0, 0)


def test_another_estimator_keeps_shared_parameters():
    board = make("regression")
    board.set({"C": 3.0, "epsilon": 0.2})
    board.use("nu_svr")
    assert board.parameters["C"] == 3.0
    assert "epsilon" not in board.parameters
    assert board.learner.estimator.get_params()["C"] == 3.0


@pytest.mark.parametrize("places", [[], [(0.0, 0.0, 1)], [(0.0, 0.0, 0), (0.5, 0.0, 0)]])
def test_there_is_nothing_to_compare_without_a_model(places):
    with pytest.raises(ValueError, match="no model"):
        Board("svc", places).refit()


def test_equal_points():
    board = Board("svc", [(0.0, 0.0, 0), (0.0, 0.0, 1), (0.0, 0.0, 0)])
    board.add(0.0, 0.0, 1)
    board.forget(board.points[0].id)
    assert board.learner.certificate().status == "optimal"
    assert np.isfinite(board.last.motion.coef).all()
