"""The runner: nothing is measured twice, nothing is lost, a late process is killed."""

from __future__ import annotations

import signal

import pytest

from support.experiments import Script, raced
from widestreet._experiments.harness import runner
from widestreet._experiments.harness.measurement import AUTO, SKLEARN, Measurement
from widestreet._experiments.harness.records import Store
from widestreet._experiments.harness.runner import Runner
from widestreet._experiments.papers.catalogue import PAPERS
from widestreet._experiments.race.schedule import RACE


def plan_of(*methods, seeds=2) -> list[Measurement]:
    return [Measurement("twonorm1", 50, m, seed) for m in methods for seed in range(seeds)]


def run(tmp_path, plan, said=lambda one: {}, **options):
    script = Script(said)
    made = Runner(PAPERS["randsvm"], Store(tmp_path), stream=script, **options)
    made.run(plan)
    return script, made


def test_what_was_measured_is_not_measured_again(tmp_path):
    plan = plan_of(AUTO)
    assert len(run(tmp_path, plan)[0].asked) == 2
    assert run(tmp_path, plan)[0].asked == []
    assert len(run(tmp_path, plan, fresh=True)[0].asked) == 2
    assert run(tmp_path, plan_of(AUTO, seeds=3))[0].names == ["auto-2"]


def test_what_others_disturbed_is_measured_again_if_asked(tmp_path):
    def noisy(one):
        return {"others": 1.0 if one.seed else 0.1}

    run(tmp_path, plan_of(AUTO), noisy)
    assert run(tmp_path, plan_of(AUTO), noisy)[0].asked == []
    assert run(tmp_path, plan_of(AUTO), noisy, again=True)[0].names == ["auto-1"]


def test_a_fresh_record_serves_the_rest_of_the_run(tmp_path):
    script = Script()
    made = Runner(RACE, Store(tmp_path), fresh=True, stream=script)
    assert made.record(raced()) == made.record(raced())
    assert len(script.asked) == 1


def test_a_record_is_stored_at_once(tmp_path):
    def said(one):
        if one.seed == 1:
            raise KeyboardInterrupt
        return {}

    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, plan_of(AUTO), said)
    assert run(tmp_path, plan_of(AUTO))[0].names == ["auto-1"]


def test_a_method_that_is_too_late_is_not_tried_again(tmp_path):
    def said(one):
        return {"status": "timeout", "exit": -14} if one.method.solver else {}

    script, _ = run(tmp_path, plan_of(SKLEARN, AUTO), said)
    assert script.names == ["libsvm-0", "auto-0", "auto-1"]


def test_a_crash_does_not_stop_the_others(tmp_path):
    def said(one):
        return {"status": "failed", "exit": -11} if one.seed == 0 else {}

    assert len(run(tmp_path, plan_of(AUTO, SKLEARN), said)[0].asked) == 4


def test_nothing_is_started_after_the_deadline(tmp_path):
    script, made = run(tmp_path, plan_of(AUTO), seconds=-1.0)
    assert script.asked == []
    assert made.left_out == 2
    assert made.record(raced()) is None


def test_watchers_are_told(tmp_path):
    told = []
    run(tmp_path, plan_of(AUTO, seeds=1), watch=lambda one, record: told.append(record is None))
    assert told == [True, False]


def test_a_process_measures_and_is_killed_when_it_is_late():
    paper, rows = PAPERS["prsvm"], 300
    fine = Measurement("nearer", rows, AUTO)
    late = Measurement("nearer", rows, SKLEARN, limit=1e-6)
    found = list(runner.process(paper, [fine, late, fine]))
    assert [r["status"] for r in found] == ["answer", "timeout"]
    assert found[0]["certificate"] == "optimal"


def test_a_process_that_cannot_begin_is_a_record():
    many = [Measurement("no such data", 10, AUTO)] * 1000  # more than a command line may have
    (found,) = runner.process(PAPERS["prsvm"], many)
    assert found["status"] == "failed"
    assert "no such data" in found["reason"]


def test_a_process_that_is_not_done_in_its_time_is_a_record():
    (found,) = runner.process(RACE, [raced("null", limit=0.01, rest=0.0)])
    assert found["status"] == "failed"
    assert "not certified within" in found["reason"]


def test_measurements_are_refused_without_timers(monkeypatch):
    monkeypatch.delattr(signal, "SIGALRM", raising=False)
    with pytest.raises(ValueError, match="POSIX"):
        next(runner.process(RACE, [raced()]))
