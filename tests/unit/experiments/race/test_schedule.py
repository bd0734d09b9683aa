"""The tolerances of a leg: smaller ones only as long as they are needed and help."""

from __future__ import annotations

from support.experiments import Script, race_answer
from widestreet._experiments.harness.discovery import solvers
from widestreet._experiments.harness.records import Store
from widestreet._experiments.harness.runner import Runner
from widestreet._experiments.race.comparison import fastest
from widestreet._experiments.race.plan import Leg
from widestreet._experiments.race.schedule import RACE, Schedule


def form(one):
    return race_answer() | one.facts | {"version": solvers()[one.method.name].version()}


def run(tmp_path, answer, leg=None, names=("scikit-learn",), **options):
    """Measurements that were asked for, in order."""
    script = Script(answer, form)
    runner = Runner(RACE, Store(tmp_path), stream=script, **options)
    Schedule(runner, 1).run([leg or Leg("twonorm", 200)], names)
    return script.asked


def tols(asked):
    return [one.tol for one in asked]


def test_what_was_measured_is_not_measured_again(tmp_path):
    assert len(run(tmp_path, lambda one: {})) == 4
    assert len(run(tmp_path, lambda one: {})) == 0
    assert len(run(tmp_path, lambda one: {}, fresh=True)) == 4


def test_failures_are_tried_again_and_timeouts_if_there_is_more_time(tmp_path):
    failing = run(tmp_path, lambda one: {"status": "failed"})
    assert tols(failing) == [1e-3, 1e-2, 1e-4, 1e-5]

    def slow(one):
        return {"status": "timeout", "seconds": float("inf")}

    # nothing below one that took too long
    assert tols(run(tmp_path, slow)) == [1e-3, 1e-2]
    assert tols(run(tmp_path, slow, Leg("twonorm", 200, limit=10.0))) == []
    assert tols(run(tmp_path, slow, Leg("twonorm", 200, limit=1e4))) != []


def test_smaller_tolerances_follow_until_the_target_is_reached(tmp_path):
    asked = run(tmp_path, lambda one: {"violation": 500 * one.tol})
    assert tols(asked) == [1e-3, 1e-2, 1e-4, 1e-5, 1e-6]
    assert fastest(Store(tmp_path).all()) is not None


def test_a_narrow_miss_is_followed_by_half_the_tolerance(tmp_path):
    asked = run(tmp_path, lambda one: {"violation": 1.2 * one.tol})
    assert tols(asked) == [1e-3, 5e-4, 1e-2, 1e-4, 1e-5]


def test_smaller_tolerances_end_where_they_no_longer_help(tmp_path):
    assert min(tols(run(tmp_path, lambda one: {"violation": 6e-3}))) == 1e-5


def test_points_of_a_curve_have_less_time(tmp_path):
    leg = Leg("twonorm", 200, limit=500.0, curve_limit=7.0)
    assert [one.limit for one in run(tmp_path, lambda one: {}, leg)] == [500.0, 7.0, 7.0, 7.0]


def test_others_get_a_multiple_of_our_time(tmp_path):
    leg = Leg("twonorm", 200, (1e-3,), times_ours=10.0)
    asked = run(tmp_path, lambda one: {"seconds": 3.0}, leg, ("widestreet", "scikit-learn"))
    assert [one.limit for one in asked] == [leg.limit, 30.0]


def test_the_null_solver_runs_once(tmp_path):
    assert len(run(tmp_path, lambda one: {"violation": 2.0}, names=("null",))) == 1


def test_an_absent_solver_is_asked_once(tmp_path):
    assert len(run(tmp_path, lambda one: {"status": "absent", "reason": "not here"})) == 1


def test_nothing_is_started_after_the_deadline(tmp_path):
    assert run(tmp_path, lambda one: {}, seconds=-1.0) == []
