"""The certificate: the right figures for any point, and "optimal" for optimal points only."""

from __future__ import annotations

import warnings
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

import widestreet as ws
from conftest import TOL
from reference import duals, kernels, kkt
from reference.duals import MODELS
from reference.qp import solve_qp
from support.fitting import beta_of, build_dual, cut_short, decision, fitted, in_reference_terms
from support.problems import generate, random_feasible, reference_qp, toy_model, toy_svc, toy_svr
from widestreet._src.certificate import examine, scores
from widestreet._src.engines.working_set.rounds import WorkingSetEngine
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.kernels import RBF
from widestreet._src.kernels.poll import Poll
from widestreet._src.problems.goal import Goal
from widestreet._src.rows import as_rows
from widestreet._src.shards.point import Point
from widestreet._src.status import Status
from widestreet.datasets import checkerboard

pytestmark = pytest.mark.numeric

EPS = np.finfo(np.float64).eps
TOY = {"C": 3.0, "epsilon": 0.1, "nu": 0.4}  # the parameters of toy_model
GAMMA = 0.5


def toy(model: str, weight=None):
    """One of the five models: its rows, K, widestreet's dual and the optimal beta."""
    problem, K, qp = toy_model(model, weight=weight)
    best = solve_qp(qp.Q, qp.p, qp.A, qp.d, qp.upper)
    dual = build_dual(model, np.float64(problem.y), weight=weight, **TOY)
    return problem.X, K, dual, qp.beta(best.a)


def look(X, dual, beta, place=None):
    return examine(Gram(RBF(GAMMA), as_rows(X, centred=True)).select(place), dual, beta)


def noise(K, dual, beta) -> float:
    """What rounding may do to an objective."""
    size = np.abs(beta).sum() + (dual.upper - dual.lower).sum()
    return TOL.figures * EPS * size * (np.abs(dual.target).max() + size * np.abs(K).max())


# -- figures -----------------------------------------------------------------------------------


@given(seed=st.integers(0, 2**32 - 1), model=st.sampled_from(MODELS), weighted=st.booleans())
def test_figures_of_any_point_are_those_of_the_reference(seed, model, weighted):
    rng = np.random.default_rng(seed)
    weight = rng.choice([0.0, 0.5, 1.0, 2.0], 30) if weighted else None
    X, K, dual, _ = toy(model, weight)
    terms = in_reference_terms(dual)
    beta = random_feasible(terms, rng)
    found, slack = look(X, dual, beta), noise(K, dual, beta)
    primal = kkt.primal_objective(K, terms, beta)
    assert found.primal == pytest.approx(primal.value, abs=slack)
    assert found.dual == pytest.approx(kkt.dual_objective(K, terms, beta), abs=slack)
    assert found.violation == pytest.approx(kkt.kkt_violation(K, terms, beta), abs=slack)
    assert found.infeasibility <= TOL.feasibility
    assert found.primal >= found.dual - slack


@pytest.mark.parametrize("model", MODELS)
def test_the_optimum_lies_between_primal_and_dual_of_every_point(model, rng):
    X, _, dual, beta = toy(model)
    best = look(X, dual, beta)
    slack = TOL.strong_duality * abs(best.dual)
    assert best.primal == pytest.approx(best.dual, abs=slack)
    assert best.violation <= TOL.violation
    assert best.certificate("optimal", Goal(TOL.violation, 0.01)).status == "optimal"
    for _ in range(20):
        found = look(X, dual, random_feasible(in_reference_terms(dual), rng))
        assert found.dual - slack <= best.dual <= found.primal + slack


@pytest.mark.parametrize("model", MODELS)
def test_order_of_the_rows_does_not_matter(model, rng):
    X, K, dual, _ = toy(model)
    beta = random_feasible(in_reference_terms(dual), rng)
    order = rng.permutation(len(X))
    shuffled = build_dual(model, permuted_labels(dual, model, order), **TOY)
    one, other = look(X, dual, beta), look(X[order], shuffled, beta[:, order])
    slack = noise(K, dual, beta)
    for name in ("primal", "dual", "violation", "bias"):
        np.testing.assert_allclose(getattr(other, name), getattr(one, name), atol=slack)


def permuted_labels(dual, model, order):
    """The labels again, from the dual."""
    if model.endswith("svr"):
        return dual.target.mean(axis=0)[order]
    return np.where(dual.lower[0] < 0, -1.0, 1.0)[order]


def test_rows_that_are_no_variables_do_not_matter(rng):
    X, K, dual, beta = toy("c_svc")
    place = np.sort(rng.permutation(2 * len(X))[: len(X)])
    among = rng.normal(size=(2 * len(X), X.shape[1]))
    among[place] = X
    one, other = look(X, dual, beta), look(among, dual, beta, place)
    for name in ("primal", "dual", "violation", "bias"):
        np.testing.assert_allclose(
            getattr(other, name), getattr(one, name), atol=noise(K, dual, beta)
        )


@pytest.mark.parametrize("model", MODELS)
def test_scores_that_are_known_already(model, rng):
    """Then no kernel value is computed; scores of another point are taken at their word."""
    X, _, dual, _ = toy(model)
    gram = Gram(RBF(GAMMA), as_rows(X, centred=True))
    beta = random_feasible(in_reference_terms(dual), rng)
    poll = Poll()
    found = examine(gram, dual, beta, poll=poll)
    score = scores(gram, beta, poll)
    before = poll.kernel_values
    again = examine(gram, dual, beta, score=score, poll=poll)
    assert poll.kernel_values == before > 0
    for name in ("primal", "dual", "violation", "infeasibility", "bias", "rounding"):
        assert np.array_equal(getattr(again, name), getattr(found, name)), name
    broken = examine(gram, dual, beta, score=np.where(np.arange(30) == 7, np.nan, score))
    assert broken.certificate("optimal", Goal(1e3, 0.01)).status == "stalled"


# -- honesty -----------------------------------------------------------------------------------


def corruptions(dual, beta, rng):
    """Points that are not optimal, made from one that is."""
    width = (dual.upper - dual.lower).max()
    free = np.argwhere((beta > dual.lower) & (beta < dual.upper))
    i = tuple(free[0])
    mate = next(tuple(v) for v in free[1:] if dual.group[tuple(v)] == dual.group[i])
    moved = beta.copy()
    moved[i] += 1e-3 * width * np.sign(dual.upper[i] + dual.lower[i])
    moved[mate] -= moved[i] - beta[i]
    outside = beta.copy()
    outside[i] = dual.upper[i] + 1e-6 * width
    broken = beta.copy()
    broken[i] = np.nan
    return {
        "a pair moved": moved,
        "sum not met": 0.999 * beta + 1e-6 * width * (beta != 0),
        "outside its box": outside,
        "not a number": broken,
        "shuffled": rng.permuted(beta, axis=1),
        "another point": random_feasible(in_reference_terms(dual), rng),
    }


@pytest.mark.parametrize("model", MODELS)
def test_a_corrupted_point_is_never_optimal(model, rng):
    X, _, dual, beta = toy(model)
    for what, bad in corruptions(dual, beta, rng).items():
        for status in Status:
            certificate = look(X, dual, bad).certificate(status, Goal(1e-6, 0.01))
            assert certificate.status != "optimal", what


@pytest.mark.parametrize("flipped", [[0], [3, 17], range(30)])
def test_flipped_labels_are_noticed(flipped):
    X, _, dual, beta = toy("c_svc")
    y = dual.target[0].copy()
    y[list(flipped)] *= -1
    other = build_dual("c_svc", y, **TOY)
    for point in (beta, np.clip(beta, other.lower, other.upper)):
        assert look(X, other, point).certificate("optimal", Goal(1e-6, 0.01)).status != "optimal"


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_scores_that_are_no_numbers_prove_nothing(value, monkeypatch):
    X, _, dual, beta = toy("c_svc")
    scan = Gram.scan

    def broken(self, *arguments, **options):
        out = scan(self, *arguments, **options)
        out[0] = value
        return out

    monkeypatch.setattr(Gram, "scan", broken)
    assert look(X, dual, beta).certificate("optimal", Goal(1e-3, 0.01)).status != "optimal"


@pytest.mark.parametrize(("status", "good"), list(product(Status, [True, False])))
def test_status_tells_what_was_proved(status, good, rng):
    """What reached tol is optimal whoever stopped it, but an interrupt stays one."""
    X, _, dual, beta = toy("c_svc")
    found = look(X, dual, beta if good else 0.9 * beta)
    said = found.certificate(status, Goal(1e-6, 0.01)).status
    if status in ("interrupted", "approximate"):
        assert said == status
    elif good:
        assert said == "optimal"
    else:
        assert said == ("stalled" if status == "optimal" else status)


# -- honesty of the estimators -----------------------------------------------------------------


@pytest.fixture(params=["svc", "svr"])
def problem(request):
    return toy_svc(200, C=10.0) if request.param == "svc" else toy_svr(200, C=10.0)


def recomputed(problem, model) -> float:
    qp = reference_qp(problem)
    return kkt.kkt_violation(
        kernels.matrix(problem.kernel, problem.X, **problem.params),
        duals.in_beta_space(qp),
        beta_of(model),
    )


LIES = {
    "scaled": lambda beta: 0.9 * beta,
    "zero": lambda beta: 0.0 * beta,
    "negated": lambda beta: -beta,
    "shuffled": lambda beta: beta[:, ::-1],
    "one moved": lambda beta: beta + 0.1 * (np.arange(beta.shape[1]) == 0),
}


@pytest.mark.usefixtures("by_rounds")
@pytest.mark.parametrize("lie", LIES)
def test_an_engine_that_lies_is_found_out(problem, lie, monkeypatch):
    solve = WorkingSetEngine.solve

    def lying(self):
        self.inputs = replace(self.inputs, check=None)  # no honest point is examined on the way
        solution = solve(self)
        return replace(solution, point=Point.of(LIES[lie](solution.beta)), status="optimal")

    monkeypatch.setattr(WorkingSetEngine, "solve", lying)
    with pytest.warns(ConvergenceWarning, match=r"stalled.*violation"):
        model = fitted(problem)
    assert model.certificate_.status == "stalled"
    assert model.fit_status_ == 1
    assert model.certificate_.kkt_violation > model.tol


@pytest.mark.usefixtures("by_rounds")
def test_a_wrong_bias_does_not_reach_the_model(problem, monkeypatch):
    honest = fitted(problem)
    solve = WorkingSetEngine.solve

    def lying(self):
        solution = solve(self)
        return replace(solution, bias=solution.bias + 100.0, dual_objective=1e9)

    monkeypatch.setattr(WorkingSetEngine, "solve", lying)
    model = fitted(problem)
    assert model.certificate_ == honest.certificate_
    assert np.array_equal(model.intercept_, honest.intercept_)


@pytest.mark.parametrize("strategy", ["auto", "smo"])
@pytest.mark.parametrize("steps", [1, 2, 10, 100])
def test_rounds_cut_short_are_not_optimal(problem, steps, strategy):
    with pytest.warns(ConvergenceWarning, match=r"iteration_limit.*duality gap.*max_iter"):
        model = fitted(problem, max_iter=steps, strategy=strategy)
    assert model.certificate_.status == "iteration_limit"
    assert model.fit_status_ == 1
    assert model.certificate_.kkt_violation > model.tol
    assert model.certificate_.kkt_violation == pytest.approx(
        recomputed(problem, model), abs=TOL.twin
    )
    assert np.max(model.n_iter_) <= steps
    assert np.isfinite(decision(model, problem.X)).all()


def test_time_cut_short_is_not_optimal(problem):
    with pytest.warns(ConvergenceWarning, match=r"time_limit.*gap.*max_time"):
        model = fitted(problem, max_time=1e-9)
    assert model.certificate_.status == "time_limit"
    assert recomputed(problem, model) > model.tol


UNREACHABLE = {
    "rbf svc": (toy_svc(200, C=1e5), 1e-12),
    "rbf svr": (toy_svr(80, C=1e5), 1e-13),
    "linear svr, low rank": (generate()[35], 1e-13),
}


@pytest.mark.parametrize("strategy", ["auto", "smo"])
@pytest.mark.parametrize("what", UNREACHABLE)
def test_a_tol_below_rounding_ends_and_is_judged_honestly(what, strategy):
    """Scores have an error of about 1e-11 there: the fit must give up, and say so."""
    problem, tol = UNREACHABLE[what]
    with cut_short():
        model = fitted(problem, tol=tol, strategy=strategy)
    assert model.certificate_.status in ("optimal", "stalled")
    if model.certificate_.status == "optimal":
        assert model.certificate_.kkt_violation <= tol
    slack = TOL.figures * EPS * np.abs(model.dual_coef_).sum()
    violation = recomputed(problem, model)
    assert model.certificate_.kkt_violation == pytest.approx(violation, abs=slack)


def float64_violation(X, y, model) -> float:
    """The violation again, row by row from differences, with nothing of widestreet."""
    X = np.asarray(X, dtype=np.float64)
    coef = model.dual_coef_[0]
    score = np.zeros(len(X))
    for a in range(0, len(X), 500):
        score[a : a + 500] = kernels.scan(
            "rbf", X[a : a + 500], X[model.support_], coef, gamma=model.gamma
        )
    beta = np.zeros(len(X))
    beta[model.support_] = coef
    f = y - score
    grow = beta < np.where(y > 0, model.C, 0.0)
    shrink = beta > np.where(y > 0, 0.0, -model.C)
    return float(f[grow].max() - f[shrink].min())


@pytest.mark.parametrize("flips", [0.0, 0.02])
def test_large_C_and_small_tol_on_float32_rows(flips, rng):
    """Float32 kernel values cannot do it: certified by float64, or said not to be optimal."""
    X, y = checkerboard(3000, random_state=1, dtype=np.float32)
    y = np.where(rng.random(len(y)) < flips, -y, y)
    with cut_short():
        model = ws.SVC(C=1e4, gamma=2.0, tol=1e-5, n_jobs=1, random_state=0).fit(X, y)
    violation = float64_violation(X, y, model)
    slack = TOL.figures * EPS * np.abs(model.dual_coef_).sum()
    assert model.certificate_.kkt_violation == pytest.approx(violation, abs=slack)
    assert (model.certificate_.status == "optimal") == (model.certificate_.kkt_violation <= 1e-5)


@pytest.mark.parametrize("power", [2, 5, 6, 7, 8, 10])
def test_features_of_any_size_are_judged_honestly(power):
    """With gamma |x|^2 of 1e14 and more a distance written as norms has no digit left."""
    problem = toy_svc(61)
    X, y = problem.X * 10.0**power, problem.y
    K = kernels.matrix("rbf", X, gamma=1.0)
    dual = duals.in_beta_space(duals.c_svc(K, y, 10.0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = ws.SVC(C=10.0, gamma=1.0, n_jobs=1).fit(X, y)
    if model.certificate_.status == "optimal":
        assert kkt.kkt_violation(K, dual, beta_of(model)) <= model.tol + TOL.twin
