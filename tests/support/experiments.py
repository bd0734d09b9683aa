"""Made-up measurements and records, and papers in miniature, for the tests of experiments."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from threadpoolctl import threadpool_limits

from widestreet import datasets
from widestreet._experiments.harness.discovery import solvers
from widestreet._experiments.harness.measure import measure
from widestreet._experiments.harness.measurement import AUTO, Measurement, Method
from widestreet._experiments.harness.task import Split
from widestreet._experiments.harness.verdict import verdict
from widestreet._experiments.race.comparison import TARGET, reached
from widestreet._experiments.race.schedule import RACE, method
from widestreet._experiments.race.small import CLUSTERS

MEASURED = {
    *("seconds", "all_seconds", "peak_mb", "n_sv", "violation", "gap", "relative_gap"),
    *("primal_objective", "dual_objective", "infeasibility", "score", "predict_seconds"),
    *("version", "when", "trained_on", "features", "layout", "test_rows", "others"),
}
PNG = b"\x89PNG\r\n\x1a\n"
TEST_ROWS = 100


def raced(
    solver: str = "widestreet", problem: str = "twonorm", rows: int = 200, **changes: Any
) -> Measurement:
    """A measurement of the race."""
    return Measurement(problem, rows, method(solver), **{"limit": 60.0} | changes)


def answer(one: Measurement | None = None, **changes: Any) -> dict[str, Any]:
    """A made-up record."""
    one = one or Measurement("p", 10, AUTO)
    found = {
        "status": "answer",
        "seconds": 1.5,
        "n_sv": 10,
        "accuracy": 0.9,
        "violation": 5e-4,
        "relative_gap": 1e-5,
        "certificate": "optimal",
        "features": 20,
        "test_rows": 100,
    }
    return one.facts | found | changes


def race_answer(solver: str = "widestreet", **changes: Any) -> dict[str, Any]:
    """A made-up record of the race."""
    found = {
        "seconds": 1.0,
        "peak_mb": 10.0,
        "gap": 1e-5,
        "primal_objective": 1.0,
        "dual_objective": 1.0,
        "infeasibility": 0.0,
        "score": 0.9,
        "predict_seconds": 0.1,
        "layout": "dense",
        "version": "1.2",
        "others": 0.0,
    }
    return answer(raced(solver, limit=100.0), **found | changes)


def check_solver(name: str) -> None:
    """Measure a solver on two and four classes and on regression; skip if it is not installed."""
    solver = solvers()[name]
    if solver.absent() is not None:
        pytest.skip(solver.absent())
    with threadpool_limits(1):
        for problem in ("twonorm", "friedman"):
            (found,) = measure(RACE, [raced(name, problem)])
            assert found["status"] == "answer"
            assert set(found) >= MEASURED
            assert reached(found) is solver.uses_tol
            assert (0 < found["n_sv"] <= 200) is solver.uses_tol
        split = CLUSTERS.load(150)
        data = solver.prepare(CLUSTERS, split.X, split.y)
        solution = solver.solution(solver.fit(CLUSTERS, data, 1e-3, 1), data)
        found = verdict(CLUSTERS, split.X, split.y, solution, 1)
        assert (found["violation"] <= 1.05 * TARGET) is solver.uses_tol


class Script:
    """A stream that answers measurements by a function, and remembers them."""

    def __init__(self, said=lambda one: {}, form=answer):
        self.said, self.form, self.asked = said, form, []

    def __call__(self, experiment, chosen):
        for one in chosen:
            self.asked.append(one)
            record = self.form(one) | self.said(one)
            yield record
            if "exit" in record:
                return

    @property
    def names(self) -> list[str]:
        return [f"{one.method.name}-{one.seed}" for one in self.asked]


def tiny(kind: str, n: int, seed: int = 0) -> Split:
    """Rows for any problem; some of them are equal."""
    generate = datasets.twonorm if kind == "svc" else datasets.friedman
    X, y = generate(n, random_state=seed)
    X_test, y_test = generate(TEST_ROWS, random_state=seed + 1)
    X[1], y[1] = X[0], y[0]
    return Split(X, y, X_test, y_test)


def miniature(paper, rows: int = 120, chosen: str = ""):
    """The same paper with a few rows, generated for every problem, and two seeds.

    `chosen` begins the names of the only problems that are in its plan.
    """
    problems = dict(paper.problems())
    for name, problem in problems.items():
        if problem.files:
            problems[name] = replace(problem, load=partial(tiny, problem.kind), files=())
    few = {"values": 4, "steps": 20, "folds": 2, "grid": [0.5, 2.0], "trials": 1}
    few |= {"sample_size": 40, "k": 30, "max_rounds": 3}

    def small(one: Measurement) -> Measurement:
        asked = dict(one.method.parameters)
        if "trials" in asked:
            asked["sizes"] = asked["sizes"][:2]
        asked |= {key: value for key, value in few.items() if key in asked}
        smaller: Method = replace(one.method, parameters=asked, processes=0)
        return replace(one, rows=rows, method=smaller)

    def plan(quick):
        kept = [one for one in paper.plan(quick) if one.problem.startswith(chosen)]
        return [small(one) for one in kept if one.seed < 2]

    return replace(paper, problems=lambda: problems, plan=plan)


def parsed(*words: str) -> Namespace:
    """What the command line makes of words."""
    from widestreet.cli import make_parser

    return make_parser().parse_args(list(words))
