"""Several classes: what is proved of each pair, and what is told of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from conftest import TOL
from support.class_pairs import GAMMA, SMALL, clouds, machine, quietly, rbf, train
from widestreet._src.certificate import examine
from widestreet._src.engines.budget import Budget
from widestreet._src.kernels import kernels as package
from widestreet._src.kernels.gram import Gram
from widestreet._src.problems.class_pairs import PairLayout
from widestreet._src.problems.goal import Goal
from widestreet._src.rows import as_rows
from widestreet._src.shards.point import Point
from widestreet._src.training import one_vs_one
from widestreet._src.training.engine_sequence import Solver
from widestreet._src.training.problem import Problem

pytestmark = pytest.mark.numeric

# -- certificates ------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def side_by_side(monkeypatch):
    """However few rows: that is what is tested here."""
    monkeypatch.setattr(one_vs_one, "_SERIAL_ROWS", 0)


@pytest.mark.parametrize("model", ["c_svc", "nu_svc"])
@pytest.mark.parametrize("tol", [1e-1, 1e-8])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_one_examination_certifies_every_pair(model, tol, n_jobs):
    """With the figures that each gets alone."""
    X, y = clouds()
    machines, trained = train(X, y, model, tol=tol, n_jobs=n_jobs)
    gram = Gram(package.RBF(GAMMA), as_rows(X, centred=True))
    for p, one in enumerate(trained):
        own = gram.select(machines.rows(p))
        found = examine(own, machines.problems[p].dual, one.solution.beta)
        expected = found.certificate(one.solution.status, Goal(tol, 0.01))
        slack = TOL.scan_float64 * (1 + np.abs(one.solution.beta).sum()) * found.rows
        for field in ("primal_objective", "dual_objective", "gap", "kkt_violation"):
            value = getattr(one.certificate, field)
            assert value == pytest.approx(getattr(expected, field), abs=slack), field
        assert (one.certificate.status, one.certificate.n_rows) == ("optimal", found.rows)
        np.testing.assert_allclose(one.bias, found.bias, atol=slack)


@pytest.mark.usefixtures("by_rounds", "chosen_data")  # pairs of classes of different sizes
def test_the_certificate_is_the_worst_of_all(monkeypatch):
    X, y = clouds()
    model = machine(tol=1e-2).fit(X, y)
    worst = max(c.kkt_violation for c in model.certificates_)
    assert model.certificate_.kkt_violation == worst
    assert model.certificate_ in model.certificates_
    solve = Solver.by_rounds

    def limited(self, problem, observe):
        few = Budget(None, 3) if problem.dual.rows == sizes[4] else self.budget
        return solve(replace(self, budget=few), problem, observe)

    sizes = [((y == i) | (y == j)).sum() for i, j in PairLayout(4).pairs]
    assert sizes.count(sizes[4]) == 1
    monkeypatch.setattr(Solver, "by_rounds", limited)
    with pytest.warns(ConvergenceWarning, match=r"iteration_limit.* in 1 of 6 pairs of classes"):
        model = machine().fit(X, y)
    assert [c.status for c in model.certificates_] == [
        "iteration_limit" if p == 4 else "optimal" for p in range(6)
    ]
    assert model.certificate_ is model.certificates_[4]
    assert model.fit_status_ == 1


def lying(monkeypatch, lie, at: int = 2) -> list[Problem]:
    """Let the engine of one pair return something else, once; what it is asked afterwards."""
    solve, asked = Solver.by_rounds, []

    def liar(self, problem, observe):
        solution = solve(self, problem, observe)
        asked.append(problem)
        if len(asked) - 1 == at:
            solution = replace(solution, point=Point.of(lie(solution.beta)), status="optimal")
        return solution

    monkeypatch.setattr(Solver, "by_rounds", liar)
    return asked


@pytest.mark.usefixtures("by_rounds")
@pytest.mark.parametrize("model", ["c_svc", "nu_svc"])
def test_an_engine_that_lies_is_caught_and_goes_on(model, monkeypatch):
    X, y = clouds()
    machines, honest = train(X, y, model)

    def lie(beta):  # half way to another feasible point
        return 0.5 * (beta + machines.problems[2].dual.feasible_point())

    asked = lying(monkeypatch, lie)
    _, trained = train(X, y, model)
    assert len(asked) == 7
    assert asked[6].dual is not asked[5].dual
    np.testing.assert_allclose(asked[6].start, lie(honest[2].solution.beta), atol=1e-14)
    K = rbf(X, X)
    for p, (one, other) in enumerate(zip(trained, honest, strict=True)):
        assert one.certificate.status == "optimal"
        assert one.certificate.kkt_violation <= TOL.violation
        rows = machines.rows(p)
        change = (one.solution.beta - other.solution.beta)[0]
        assert np.abs(K[np.ix_(rows, rows)] @ change).max() <= TOL.decision
        np.testing.assert_allclose(one.bias, other.bias, atol=TOL.decision)
    again = trained[2].solution
    assert again.pair_steps >= honest[2].solution.pair_steps
    assert again.kernel_values > honest[2].solution.kernel_values
    assert {record.problem for record in again.trace} == {2}
    before = len(honest[2].solution.trace)
    assert [record.round for record in again.trace] == list(range(1, len(again.trace) + 1))
    assert len(again.trace) > before
    assert again.trace[-1].pair_steps == again.pair_steps


@pytest.mark.usefixtures("by_rounds")
def test_going_on_takes_no_more_steps_than_are_left(monkeypatch):
    X, y = clouds()
    limit = int(machine().fit(X, y).n_iter_[2])
    lying(monkeypatch, lambda beta: 0.01 * beta)
    model = quietly(machine(max_iter=limit), X, y)
    assert (model.n_iter_ <= limit).all()
    assert model.certificates_[2].status == "iteration_limit"


@pytest.mark.usefixtures("by_rounds")
def test_an_engine_that_always_lies_is_not_believed(monkeypatch):
    """Nothing is called optimal that is not, whoever says so how often."""
    X, y = clouds(3)
    solve = Solver.by_rounds

    def liar(self, problem, observe):
        solution = solve(replace(self, check=None), problem, observe)
        return replace(solution, point=Point.of(0.5 * solution.beta), status="optimal")

    monkeypatch.setattr(Solver, "by_rounds", liar)
    with pytest.warns(ConvergenceWarning, match="'stalled' in 3 of 3 pairs"):
        model = machine().fit(X, y)
    assert [c.status for c in model.certificates_] == ["stalled"] * 3


# -- accounts ----------------------------------------------------------------------------------


@pytest.mark.parametrize("lies", [False, True])
def test_kernel_values_are_counted(lies, monkeypatch):
    """Those of every pair, of the joint certificate and of what had to be done again."""
    counted = 0

    def kernel(A, B):
        nonlocal counted
        counted += len(A) * len(B)
        return rbf(A, B)

    if lies:
        lying(monkeypatch, lambda beta: 0.5 * beta)
    X, y = clouds()
    model = machine(kernel=kernel, strategy=SMALL).fit(X, y)
    assert model.n_kernel_values_ == counted


def test_records_say_which_pair_they_belong_to():
    X, y = clouds()
    for n_jobs in (1, 2):
        model = machine(n_jobs=n_jobs, strategy=SMALL).fit(X, y)
        frame = model.trace_.to_frame()
        assert frame["problem"].tolist() == sorted(frame["problem"])
        for p, part in frame.groupby("problem"):
            assert part["round"].tolist() == list(range(1, len(part) + 1))
            assert part["pair_steps"].iloc[-1] == model.n_iter_[p]
            assert part["violation"].iloc[-1] <= model.tol
        assert sorted(set(frame["problem"])) == list(range(6))
