"""From a problem to a fitted estimator or a solved dual, and back to a point of the dual."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import widestreet as ws
from reference.duals import BetaDual
from support.ports import shard_set
from support.problems import Problem
from widestreet._src.certificate import Certificate, Examination, examine
from widestreet._src.engines.budget import Budget
from widestreet._src.engines.solution import Solution
from widestreet._src.engines.working_set.rounds import WorkingSetEngine
from widestreet._src.engines.working_set.state_of_rounds import Check, Inputs
from widestreet._src.kernels import kernels
from widestreet._src.kernels.gram import Gram
from widestreet._src.problems import dual as duals
from widestreet._src.problems import formulations
from widestreet._src.problems.goal import Goal
from widestreet._src.rows import as_rows
from widestreet._src.shards.point import Point
from widestreet._src.shards.port import LocalPort
from widestreet._src.shards.shard_set import Connect
from widestreet.strategies import Strategy


def estimator(problem: Problem, **options: Any) -> ws.SVC | ws.SVR:
    """The estimator a user would take for a problem; one thread and a fixed seed."""
    options = {"n_jobs": 1, "random_state": 0} | options
    options |= {"kernel": problem.kernel, "C": problem.C} | problem.params
    if problem.task == "svc":
        return ws.SVC(**options)
    return ws.SVR(epsilon=problem.epsilon, **options)


def fitted(problem: Problem, **options: Any) -> ws.SVC | ws.SVR:
    return estimator(problem, **options).fit(problem.X, problem.y, problem.sample_weight)


@contextmanager
def cut_short() -> Iterator[None]:
    """Let fits end before the optimum: whether they do depends on the time or on rounding."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


def coefficients(model: ws.SVC | ws.SVR) -> np.ndarray:
    """One coefficient per training row, from what the model shows its user."""
    coef = np.zeros(model.shape_fit_[0])
    lines = model.dual_coef_
    coef[model.support_] = (lines.toarray() if sparse.issparse(lines) else lines)[0]
    return coef


def beta_of(model: ws.SVC | ws.SVR) -> np.ndarray:
    """The point of the dual. With epsilon = 0 only the difference of the two layers matters."""
    coef = coefficients(model)
    if isinstance(model, ws.SVC):
        return coef[None]
    return np.stack([np.maximum(coef, 0), np.minimum(coef, 0)])


def decision(model: Any, X: Any) -> np.ndarray:
    """Scores plus bias, whatever the estimator calls them."""
    return getattr(model, "decision_function", model.predict)(X)


def build_dual(
    model: str, y: Any, *, C: float, epsilon: float = 0.1, nu: float = 0.4, weight: Any = None
) -> duals.Dual:
    """widestreet's dual of one of the five models, from the parameters any of them takes."""
    w = np.ones(len(y)) if weight is None else np.asarray(weight, dtype=np.float64)
    make: dict[str, Callable[[], duals.Dual]] = {
        "c_svc": lambda: formulations.c_svc(y, C * w),
        "eps_svr": lambda: formulations.eps_svr(y, C * w, epsilon),
        "nu_svc": lambda: formulations.nu_svc(y, nu, w),
        "nu_svr": lambda: formulations.nu_svr(y, nu, C * w),
        "one_class": lambda: formulations.one_class(len(y), nu, w),
    }
    return make[model]()


def in_reference_terms(dual: duals.Dual) -> BetaDual:
    """The same arrays under the names of tests/reference."""
    return BetaDual(dual.target, dual.lower, dual.upper, dual.group, dual.total)


class Solved(NamedTuple):
    """What the engine says, what the certificate sees, and the engine itself."""

    solution: Solution
    found: Examination
    engine: WorkingSetEngine


# For tests that ask for more than float64 can always tell: whether it can depends on rounding.
limited_by_float64 = pytest.mark.filterwarnings(
    "ignore:.*the rounding error of the violation:sklearn.exceptions.ConvergenceWarning"
)


def as_exact_as_float64(certificate: Certificate) -> bool:
    """Whether a point is optimal as far as float64 can tell: large C and kernel values set limits.

    Tests that ask for this recompute the violation by themselves.
    """
    return certificate.status == "optimal" or (
        certificate.status == "stalled"
        and (certificate.limited_by_rounding or certificate.lost_in_rounding)
    )


def checker(gram: Gram, dual: duals.Dual, tol: float) -> Callable[[Point], Check]:
    """What an engine asks for the violation over all rows; the gap is not asked for."""

    def check(point: Point) -> Check:
        found = examine(gram, dual, point.dense(dual.rows))
        return Check(found.violation, found.dual, found.next_violation(Goal(tol)))

    return check


def solve_dual(
    X: Any,
    dual: duals.Dual,
    strategy: Strategy,
    *,
    gamma: float = 0.5,
    kernel: kernels.Kernel | None = None,
    tol: float,
    capacity: int = 1 << 20,
    threads: int = 1,
    seed: int = 0,
    parts: int = 1,
    connect: Connect = LocalPort,
    checked: bool = True,
) -> Solved:
    """Run the working-set engine, without an estimator around it."""
    kernel = kernels.RBF(gamma) if kernel is None else kernel
    rows = as_rows(X, centred=kernel.translation_invariant)
    gram = Gram(kernel, rows, threads=threads)

    inputs = Inputs(
        shards=shard_set(gram, dual, threads=threads, parts=parts, connect=connect),
        strategy=strategy,
        goal=Goal(tol),
        check=checker(Gram(kernel, rows, threads=threads), dual, tol) if checked else None,
        budget=Budget(),
        room=capacity,
        observer=lambda record: None,
        rng=np.random.default_rng(seed),
        threads=threads,
    )
    engine = WorkingSetEngine(inputs)
    solution = engine.solve()
    return Solved(solution, examine(Gram(kernel, rows), dual, solution.beta), engine)
