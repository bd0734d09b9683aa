"""The verdict on a solution: that of the certificate."""

from __future__ import annotations

import pytest
from threadpoolctl import threadpool_limits

from conftest import TOL
from widestreet import SVC, SVR
from widestreet._experiments.harness.discovery import solvers, tasks
from widestreet._experiments.harness.solver import Solution
from widestreet._experiments.harness.verdict import verdict


@pytest.fixture(autouse=True)
def _one_thread():
    with threadpool_limits(1):
        yield


@pytest.mark.parametrize("name", ["twonorm", "friedman"])
def test_the_verdict_is_our_certificate(name):
    task = tasks()[name]
    split = task.load(300)
    kind, extra = (SVC, {}) if task.kind == "svc" else (SVR, {"epsilon": task.epsilon})
    model = kind(C=task.C, gamma=task.gamma, random_state=0, **extra).fit(split.X, split.y)
    solution = solvers()["widestreet"].solution(model, (split.X, split.y))
    found, own = verdict(task, split.X, split.y, solution, 1), model.certificate_
    assert found["dual_objective"] == pytest.approx(own.dual_objective)
    assert found["primal_objective"] == pytest.approx(own.primal_objective)
    assert found["violation"] == pytest.approx(own.kkt_violation, abs=TOL.violation)


def test_a_wrong_sign_is_noticed():
    task = tasks()["twonorm"]
    split = task.load(200)
    model = SVC(C=task.C, gamma=task.gamma).fit(split.X, split.y)
    right = solvers()["widestreet"].solution(model, (split.X, split.y))
    wrong = Solution(right.coef, right.classes[::-1])
    assert verdict(task, split.X, split.y, wrong, 1)["violation"] > 0.1
