"""Training of one problem: small or by rounds, the certified optimum is the same."""

from __future__ import annotations

import numpy as np
import pytest

from conftest import TOL
from reference.duals import MODELS
from reference.qp import solve_qp
from support.fitting import build_dual
from support.problems import toy_model
from support.settings import settings
from widestreet._src.kernels.kernels import RBF
from widestreet._src.problems.goal import Goal
from widestreet._src.rows import as_rows
from widestreet._src.training.engine_sequence import train
from widestreet._src.training.problem import Problem
from widestreet.strategies import ISVM, SMO, Auto

pytestmark = pytest.mark.numeric


def ignore(record) -> None:
    """Observe nothing."""


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    "strategy", [Auto(), SMO(), ISVM(sample_size=5)], ids=["auto", "smo", "isvm"]
)
def test_every_way_ends_at_the_optimum_of_the_quadratic_programme(model, strategy):
    problem, _, qp = toy_model(model)
    dual = build_dual(model, np.float64(problem.y), C=3.0)
    given = settings(strategy=strategy, goal=Goal(TOL.violation))
    found = train(RBF(0.5), as_rows(problem.X), Problem(dual), given, ignore)
    assert found.certificate.status == "optimal"
    best = -solve_qp(qp.Q, qp.p, qp.A, qp.d, qp.upper).objective
    assert found.certificate.dual_objective == pytest.approx(best, rel=TOL.objective_rel)


def test_rows_that_are_not_kept_do_not_matter(rng):
    problem, _, _ = toy_model("c_svc", 40)
    kept = np.sort(rng.permutation(40)[:25])
    dual = build_dual("c_svc", np.float64(problem.y[kept]), C=3.0)
    rows = as_rows(problem.X)
    some = train(RBF(0.5), rows, Problem(dual), settings(), ignore, kept)
    alone = train(RBF(0.5), as_rows(problem.X[kept]), Problem(dual), settings(), ignore)
    objective = alone.certificate.dual_objective
    assert some.certificate.dual_objective == pytest.approx(objective, rel=TOL.objective_rel)
    assert some.certificate.n_rows == 25
