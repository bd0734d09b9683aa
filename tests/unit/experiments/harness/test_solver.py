"""The interface of solvers."""

from __future__ import annotations

from widestreet._experiments.harness.discovery import solvers, tasks


def test_a_solver_that_is_not_installed_says_how_to_get_it():
    solver = type("Missing", (type(solvers()["null"]),), {"module": "no_such_module"})()
    assert "pip install" in solver.absent()


def test_options_reach_the_estimator():
    task, solver = tasks()["twonorm"], solvers()["widestreet"]
    split = task.load(60)
    model = solver.fit(task, (split.X, split.y), 1e-3, 1, random_state=5)
    assert model.random_state == 5
    assert solver.remarks(model)["certificate"] == "optimal"
    assert solver.remarks(model)["rounds"] == len(model.trace_)
