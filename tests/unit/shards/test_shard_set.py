"""Several shards are one problem, wherever they are and whatever they forget."""

from __future__ import annotations

import numpy as np
import pytest

from conftest import TOL
from support.fitting import build_dual, solve_dual
from support.shard_sets import CONNECT, every_model, every_port, shards_at_a_point
from widestreet._src.problems.dual import Dual, select
from widestreet._src.shards import shard_set
from widestreet._src.shards.news import Released
from widestreet._src.shards.shard_examination import learn_scores
from widestreet._src.shards.survey_order import SurveyOrder
from widestreet.datasets import friedman, twonorm
from widestreet.strategies import ISVM, Auto

STRATEGY = Auto(start_size=64, max_size=400)


def problem(model: str, n: int = 1500) -> tuple[np.ndarray, Dual]:
    X, y = friedman(n, random_state=0) if model.endswith("svr") else twonorm(n, random_state=0)
    return X, build_dual(model, np.float64(y), C=1.0, epsilon=1.0, nu=0.3)


# -- the engine must not notice ----------------------------------------------------------------


@every_model
@every_port
def test_same_optimum_however_the_rows_are_divided(model, port):
    X, dual = problem(model)
    tol = 1e-5
    whole = solve_dual(X, dual, STRATEGY, gamma=0.05, tol=tol)
    parts = solve_dual(X, dual, STRATEGY, gamma=0.05, tol=tol, parts=3, connect=CONNECT[port])
    assert parts.found.violation <= tol
    assert parts.found.infeasibility <= TOL.feasibility
    assert np.isclose(parts.found.dual, whole.found.dual, rtol=TOL.strategies_rel, atol=0.0)


@every_model
@every_port
def test_without_a_check_the_surveys_of_all_shards_decide(model, port):
    X, dual = problem(model, 600)
    solved = solve_dual(
        X, dual, STRATEGY, gamma=0.05, tol=1e-3, parts=3, connect=CONNECT[port], checked=False
    )
    assert solved.solution.status == "optimal"
    assert solved.found.violation <= 1e-3


@every_port
def test_passes_go_from_shard_to_shard(port):
    X, dual = problem("c_svc", 400)
    strategy = ISVM(block=16)
    solved = solve_dual(X, dual, strategy, gamma=0.05, tol=1e-3, parts=3, connect=CONNECT[port])
    assert solved.solution.status == "optimal"
    assert solved.found.violation <= 1e-3


@every_port
def test_same_seed_same_result_with_several_shards(port):
    X, dual = problem("c_svc")
    one, two = (
        solve_dual(X, dual, STRATEGY, gamma=0.05, tol=1e-3, parts=4, seed=5, connect=CONNECT[port])
        for _ in range(2)
    )
    assert np.array_equal(one.solution.beta, two.solution.beta)
    assert one.solution.kernel_values == two.solution.kernel_values > 0


@pytest.mark.parametrize("parts", [1, 4])
def test_messages_that_travel_change_nothing(parts):
    """Not a bit, as long as the shards remember."""
    X, dual = problem("c_svc")
    local, sent = (
        solve_dual(X, dual, STRATEGY, gamma=0.05, tol=1e-3, parts=parts, connect=CONNECT[port])
        for port in ("local", "pickling")
    )
    assert np.array_equal(local.solution.beta, sent.solution.beta)
    assert local.solution.kernel_values == sent.solution.kernel_values


# -- questions ---------------------------------------------------------------------------------


@every_port
@pytest.mark.parametrize("parts", [1, 3])
def test_scores_that_are_told_are_not_computed(port, parts):
    shards, _, _ = shards_at_a_point(parts, port, np.random.default_rng(7))
    exact = shards.scores(np.arange(shards.rows))
    learn_scores(shards, exact)
    order, before = SurveyOrder(shards.rows, 1e-3, whole=True), shards.poll.kernel_values
    told = shards.survey(order, np.random.default_rng(0))
    assert shards.poll.kernel_values == before or "forgetful" in port
    other, _, _ = shards_at_a_point(parts, port, np.random.default_rng(7))
    assert np.array_equal(told.ids, other.survey(order, np.random.default_rng(0)).ids)
    assert other.poll.kernel_values > 0
    assert np.allclose(shards.take(told.ids).score, exact[told.ids])


@every_port
@pytest.mark.parametrize("parts", [1, 2, 7])
def test_rows_find_their_shard_and_come_back_in_order(port, parts, rng):
    shards, dual, beta = shards_at_a_point(parts, port, np.random.default_rng(7))
    ids = rng.permutation(90)[:40]
    rows = shards.take(ids)
    assert np.array_equal(rows.ids, ids)
    assert np.array_equal(rows.beta, beta[:, ids])
    wanted = select(dual, ids)
    for name in ("target", "lower", "upper", "group"):
        assert np.array_equal(getattr(rows.variables, name), getattr(wanted, name))
    expansion = shards.news.expansion
    whole, _, _ = shards_at_a_point(1, "local", np.random.default_rng(7))
    exact = whole.known.gram.scan(ids, expansion.ids, expansion.coef)
    assert np.array_equal(rows.score, exact)
    assert np.array_equal(shards.scores(ids), exact)
    size = np.abs(expansion.coef).sum()
    np.testing.assert_allclose(
        shards.scores(ids, double=False), exact, rtol=0, atol=TOL.scan_float32 * size
    )


@every_port
@pytest.mark.parametrize("parts", [2, 7])
def test_a_survey_of_every_row_finds_what_one_shard_finds(port, parts, rng):
    state = rng.bit_generator.state
    order = SurveyOrder(90, 0.01, whole=True)
    found = []
    for count, where in ((1, "local"), (parts, port)):
        rng.bit_generator.state = state
        shards, _, _ = shards_at_a_point(count, where, rng)
        found.append(shards.survey(order, np.random.default_rng(0)))
    one, many = found
    assert np.array_equal(np.sort(one.ids), np.sort(many.ids))
    assert np.array_equal(one.highest, many.highest)
    assert np.array_equal(one.lowest, many.lowest)
    assert (one.scanned, one.skipped, one.complete) == (many.scanned, many.skipped, many.complete)
    assert np.isclose(one.loss, many.loss, rtol=TOL.twin)


@every_port
def test_rows_of_the_working_set_are_not_surveyed(port, rng):
    shards, _, _ = shards_at_a_point(3, port, rng)
    news, members = shards.news, rng.permutation(90)[:30]
    shards.publish(news.expansion, news.point, members)
    order = SurveyOrder(90, 0.01, whole=True, skip=False)
    survey = shards.survey(order, rng)
    assert survey.scanned == 60
    assert not np.isin(survey.ids, members).any()
    released = Released(members, np.full(30, 1e6), news.expansion.version)  # a lie
    shards.publish(news.expansion, news.point, None, released)
    again = shards.survey(order, rng)
    assert again.scanned == 90
    if "forgetful" not in port:
        assert again.lowest.min() < -1e5  # what is told of them is believed


def test_the_pace_is_that_of_large_questions(monkeypatch, rng):
    """A question that takes long for other reasons does not make kernel values look slow."""
    shards, _, _ = shards_at_a_point(2, "local", rng)
    now, guess = [0.0], shards.seconds_per_value
    monkeypatch.setattr(shard_set.time, "perf_counter", lambda: now[0])

    def ask(seconds: float, values: int) -> None:
        def question(shard, news, *, poll):
            now[0] += seconds
            poll.kernel_values += values

        shards.ask(question, {0: ()})

    ask(9.0, 100)
    assert shards.seconds_per_value == guess  # too few to tell
    ask(0.5, 0)
    ask(1.5, 10_000_000)
    ask(5.0, 100_000)
    assert shards.seconds_per_value == 1e-7
    ask(4.5, 20_000_000)
    assert shards.seconds_per_value == 1e-7  # one question may be held up
    ask(4.5, 20_000_000)
    assert shards.seconds_per_value == 2e-7  # but not two in turn
    ask(2.0, 15_000_000)
    assert shards.seconds_per_value == 1e-7
