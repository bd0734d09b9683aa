"""The race: everybody's solution is certified, the rule is kept, nothing stops it."""

from __future__ import annotations

import csv
import importlib
import json

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from benchmarks import (
    comparison,
    discovery,
    files,
    machine,
    measure,
    memory,
    plots,
    race,
    report,
    runner,
    small,
)
from benchmarks.data import generated
from benchmarks.noise import Noise
from benchmarks.plan import Leg, full, quick
from benchmarks.records import Job, Store, settled
from benchmarks.rule import TARGET, fastest, reached
from benchmarks.runner import Runner
from benchmarks.solver import Solution
from benchmarks.verdict import verdict
from conftest import TOL
from widestreet import SVC, SVR
from widestreet.cli import main

TASKS, SOLVERS = discovery.tasks(), discovery.solvers()
RACING = [name for name, solver in SOLVERS.items() if solver.absent() is None]
MEASURED = {
    *("seconds", "all_seconds", "peak_mb", "n_sv", "violation", "gap", "relative_gap"),
    *("primal_objective", "dual_objective", "infeasibility", "score", "predict_seconds"),
    *("version", "when", "rows", "features", "layout", "test_rows", "remarks", "others"),
}


@pytest.fixture(autouse=True)
def _short(monkeypatch):
    """Few rows to predict, and no threads of OpenMP, which wait for each other by spinning."""
    monkeypatch.setattr(generated, "TEST_ROWS", 200)
    if "libsvm" in RACING:
        importlib.import_module("libsvm.svm")
    with threadpool_limits(1):
        yield


def job(solver: str = "widestreet", data: str = "twonorm", **changes) -> Job:
    facts = {"rows": 200, "tol": 1e-3, "threads": 1, "limit": 60.0, "repeats": 1}
    return Job(data=data, solver=solver, **facts | changes)


def record(**changes) -> dict:
    """A made-up answer."""
    found = job(limit=100.0).facts | {
        "measures": "fit",
        "status": "answer",
        "seconds": 1.0,
        "peak_mb": 10.0,
        "n_sv": 5,
        "violation": 5e-4,
        "relative_gap": 1e-5,
        "gap": 1e-5,
        "primal_objective": 1.0,
        "dual_objective": 1.0,
        "infeasibility": 0.0,
        "score": 0.9,
        "predict_seconds": 0.1,
        "features": 20,
        "layout": "dense",
        "test_rows": 100,
        "others": 0.0,
    }
    return found | changes


# -- what there is -----------------------------------------------------------------------------


def test_everybody_is_found():
    assert {"widestreet", "widestreet-smo", "scikit-learn", "scikit-learn-intelex"} <= set(SOLVERS)
    assert {"libsvm", "thundersvm", "liquidSVM", "null"} <= set(SOLVERS)
    assert next(iter(SOLVERS)) == "widestreet"
    assert {"checkerboard", "covtype-2", "covtype-4", "kdd99", "mnist", "kin40k"} <= set(TASKS)


def test_the_plans_are_about_what_there_is():
    for plan in (full(), quick()):
        assert {leg.data for leg in plan.legs} <= set(TASKS)
    assert {leg.data for leg in full().legs} == set(TASKS)


def test_a_solver_that_is_not_installed_says_how_to_get_it():
    solver = type("Missing", (type(SOLVERS["null"]),), {"module": "no_such_module"})()
    assert "pip install" in solver.absent()


# -- one measurement ---------------------------------------------------------------------------


@pytest.mark.parametrize("data", ["twonorm", "friedman"])
@pytest.mark.parametrize("solver", RACING)
def test_a_measurement_has_all_its_facts(solver, data):
    found = measure.measure(job(solver, data))
    assert found["status"] == "answer"
    assert set(found) >= MEASURED
    assert np.isfinite(found["violation"])
    if solver == "null":
        assert found["violation"] > 1
        assert found["n_sv"] == 0
        assert found["relative_gap"] == pytest.approx(1)
    else:
        assert reached(found | {"status": "answer"})
        assert 0 < found["n_sv"] <= 200


@pytest.mark.parametrize("solver", RACING)
def test_several_classes_are_certified(solver):
    """Whatever order and signs a library gives its classes."""
    task, solver = next(t for t, _ in small.problems() if t.name == "clusters"), SOLVERS[solver]
    split = task.load(150)
    data = solver.prepare(task, split.X, split.y)
    solution = solver.solution(solver.fit(task, data, 1e-3, 1), data)
    found = verdict(task, split.X, split.y, solution, 1)
    assert (found["violation"] <= 1.05 * TARGET) is solver.uses_tol


@pytest.mark.parametrize("name", ["twonorm", "friedman"])
def test_the_verdict_is_our_certificate(name):
    task = TASKS[name]
    split = task.load(300)
    kind, extra = (SVC, {}) if task.kind == "svc" else (SVR, {"epsilon": task.epsilon})
    model = kind(C=task.C, gamma=task.gamma, random_state=0, **extra).fit(split.X, split.y)
    solution = SOLVERS["widestreet"].solution(model, (split.X, split.y))
    found, own = verdict(task, split.X, split.y, solution, 1), model.certificate_
    assert found["dual_objective"] == pytest.approx(own.dual_objective)
    assert found["primal_objective"] == pytest.approx(own.primal_objective)
    assert found["violation"] == pytest.approx(own.kkt_violation, abs=TOL.violation)


def test_a_wrong_sign_is_noticed():
    task = TASKS["twonorm"]
    split = task.load(200)
    model = SVC(C=task.C, gamma=task.gamma).fit(split.X, split.y)
    right = SOLVERS["widestreet"].solution(model, (split.X, split.y))
    wrong = Solution(right.coef, right.classes[::-1])
    assert verdict(task, split.X, split.y, wrong, 1)["violation"] > 0.1


@pytest.mark.skipif(not memory._CLEAR.exists(), reason="needs Linux")
def test_memory_is_that_since_the_beginning():
    before = memory.begin()
    block = np.ones(8_000_000)
    del block
    assert 50 < memory.peak() - before < 100


def test_noise_counts_processors():
    noise = Noise()
    assert noise.processors() is None  # too short to tell
    noise._begun -= 10
    assert noise.processors() is None or noise.processors() >= 0


def test_small_data(monkeypatch):
    first = list(small.problems())[:2]
    monkeypatch.setattr(small, "problems", lambda: iter(first))
    found = small.measure("widestreet", 1)
    assert found["sizes"] == [100, small.SIZES[1]]
    assert max(found["violations"]) <= TARGET
    assert small.ratio(found, found) == 1
    assert small.measure("liquidSVM", 1)["status"] == "absent"


def test_small_problems():
    problems = list(small.problems())
    assert len(problems) == 50
    assert (min(small.SIZES), max(small.SIZES)) == (100, 2000)


def test_the_machine_is_described():
    found = machine.describe(2)
    assert {"date", "processor", "memory", "system", "Python", "numpy", "widestreet"} <= set(found)
    assert all(found.values())


# -- the runner --------------------------------------------------------------------------------


def test_a_process_brings_a_record():
    found = runner.measured(job("null"))
    assert found["status"] == "answer"
    assert found["measures"] == "fit"
    assert set(found) >= MEASURED | set(job().facts)


def test_a_fit_that_takes_too_long_is_killed():
    found = runner.measured(job(rows=20_000, limit=1e-3))
    assert found["status"] == "timeout"
    assert found["limit"] == 1e-3


def test_a_crash_is_a_record():
    found = runner.measured(job(data="no such data"))
    assert found["status"] == "failed"
    assert "no such data" in found["reason"]


def test_data_that_are_not_there_are_a_record(monkeypatch):
    monkeypatch.delenv(files.DIRECTORY, raising=False)
    found = measure.measure(job(data="ijcnn1"))
    assert found["status"] == "absent"
    assert files.DIRECTORY in found["reason"]


class Script:
    """Answers jobs from a function of solver and tol, and remembers them."""

    def __init__(self, answer):
        self.answer, self.jobs = answer, []

    def __call__(self, job: Job) -> dict:
        self.jobs.append(job)
        return record(**job.facts) | self.answer(job)

    @property
    def tols(self):
        return [job.tol for job in self.jobs]


def raced(tmp_path, answer, leg=None, solvers=("scikit-learn",), **options):
    script = Script(answer)
    Runner(Store(tmp_path), 1, measure=script, **options).run(
        [leg or Leg("twonorm", 200)], list(solvers)
    )
    return script


def test_what_was_measured_is_not_measured_again(tmp_path):
    assert len(raced(tmp_path, lambda job: {}).jobs) == 4
    assert len(raced(tmp_path, lambda job: {}).jobs) == 0
    assert len(raced(tmp_path, lambda job: {}, fresh=True).jobs) == 4


def test_what_others_disturbed_is_measured_again_if_asked(tmp_path):
    def noisy(job):
        return {"others": 1.0 if job.tol == 1e-4 else 0.1}

    raced(tmp_path, noisy)
    assert raced(tmp_path, noisy).tols == []
    assert raced(tmp_path, noisy, again=True).tols == [1e-4]


def test_failures_are_tried_again_and_timeouts_if_there_is_more_time(tmp_path):
    failing = raced(tmp_path, lambda job: {"status": "failed"})
    assert failing.tols == [1e-3, 1e-2, 1e-4, 1e-5]

    def slow(job):
        return {"status": "timeout"}

    late = raced(tmp_path, lambda job: slow(job) | {"seconds": float("inf")})
    assert late.tols == [1e-3, 1e-2]  # nothing below one that took too long
    assert raced(tmp_path, slow, Leg("twonorm", 200, limit=10.0)).tols == []
    assert raced(tmp_path, slow, Leg("twonorm", 200, limit=1e4)).tols != []


def test_smaller_tolerances_follow_until_the_target_is_reached(tmp_path):
    script = raced(tmp_path, lambda job: {"violation": 500 * job.tol})
    assert script.tols == [1e-3, 1e-2, 1e-4, 1e-5, 1e-6]
    assert fastest(Store(tmp_path).all()) is not None


def test_who_misses_narrowly_need_not_be_ten_times_as_exact(tmp_path):
    script = raced(tmp_path, lambda job: {"violation": 1.2 * job.tol})
    assert script.tols == [1e-3, 5e-4, 1e-2, 1e-4, 1e-5]


def test_smaller_tolerances_end_where_they_no_longer_help(tmp_path):
    script = raced(tmp_path, lambda job: {"violation": 6e-3})
    assert min(script.tols) == 1e-5


def test_points_of_a_curve_have_less_time(tmp_path):
    script = raced(tmp_path, lambda job: {}, Leg("twonorm", 200, limit=500.0, curve_limit=7.0))
    assert [job.limit for job in script.jobs] == [500.0, 7.0, 7.0, 7.0]


def test_others_get_a_multiple_of_our_time(tmp_path):
    leg = Leg("twonorm", 200, (1e-3,), times_ours=10.0)
    script = raced(tmp_path, lambda job: {"seconds": 3.0}, leg, ("widestreet", "scikit-learn"))
    assert [job.limit for job in script.jobs] == [leg.limit, 30.0]


def test_the_null_solver_runs_once(tmp_path):
    script = raced(tmp_path, lambda job: {"violation": 2.0}, solvers=("null",))
    assert len(script.jobs) == 1


def test_nothing_is_begun_after_the_deadline(tmp_path):
    assert raced(tmp_path, lambda job: {}, seconds=-1.0).jobs == []


def test_a_record_is_settled_by_an_answer_or_by_having_had_its_time():
    assert not settled(None, 1.0)
    assert settled(record(), 1e9)
    assert settled(record(status="timeout", limit=10.0), 10.0)
    assert not settled(record(status="timeout", limit=10.0), 20.0)
    assert not settled(record(status="failed"), 1.0)


# -- the rule ----------------------------------------------------------------------------------


def test_the_fastest_run_that_is_good_enough_counts():
    runs = [
        record(tol=1e-2, seconds=1.0, violation=9e-3),
        record(tol=1e-3, seconds=3.0, violation=9e-4),
        record(tol=1e-4, seconds=2.0, violation=9e-5),
        record(tol=1e-5, seconds=0.5, violation=1e-5, infeasibility=1e-3),
        record(tol=1e-6, seconds=0.1, status="timeout"),
    ]
    assert fastest(runs)["tol"] == 1e-4
    assert fastest(runs[:1]) is None
    assert fastest([]) is None


@pytest.mark.parametrize(("violation", "counts"), [(1.0004e-3, True), (1.1e-3, False)])
def test_the_violation_is_read_to_two_digits(violation, counts):
    assert reached(record(violation=violation)) is counts


def test_outcomes():
    ours = comparison.judge([record(seconds=2.0)])
    theirs = comparison.judge([record(seconds=9.0), record(violation=1e-2, seconds=1.0)])
    assert comparison.ratio(theirs, ours) == pytest.approx(4.5)
    never = comparison.judge([record(violation=2e-2), record(violation=1e-2, tol=1e-4)])
    assert comparison.ratio(never, ours) is None
    assert "never; 1.0e-02 at tol 0.0001" in report._times(never, ours)
    late = comparison.judge([record(status="timeout", limit=60.0)])
    assert comparison.at_least(late, ours) == pytest.approx(30)
    assert report._times(late, ours) == "more than 30: no answer in 60 s"
    broken = comparison.judge([record(status="failed", reason="Segmentation | fault")])
    assert report._times(broken, ours) == "Segmentation / fault"


def test_the_exponent_is_that_of_the_times():
    records = [record(rows=n, seconds=1e-6 * n**1.7) for n in (100, 1000, 10_000)]
    points = comparison.growth(records, "twonorm", "widestreet", "seconds")
    assert comparison.exponent(points) == pytest.approx(1.7)
    assert comparison.exponent(points[:2]) is None
    assert comparison.growing(records) == ["twonorm"]


# -- the report --------------------------------------------------------------------------------


def made_up() -> list[dict]:
    """Enough for every part of the report."""
    records = [
        record(
            solver=name, rows=n, tol=tol, seconds=k * n**p / tol**0.1, relative_gap=tol, peak_mb=n
        )
        for name, k, p in (("widestreet", 1e-6, 1.1), ("scikit-learn", 1e-7, 1.9))
        for n in (1000, 10_000, 100_000)
        for tol in (1e-3, 1e-4)
    ]
    records.append(record(solver="libsvm", rows=100_000, status="timeout", limit=60.0))
    shared = {
        "measures": "small",
        "status": "answer",
        "sizes": [100, 2000],
        "violations": [1e-4] * 2,
    }
    records += [
        shared | {"solver": "widestreet", "seconds_each": [0.001, 0.002]},
        shared | {"solver": "scikit-learn", "seconds_each": [0.002, 0.006]},
        {
            "measures": "imports",
            "status": "answer",
            "solver": "",
            "imports": {"widestreet": 0.1},
            "all_imports": {"widestreet": [0.1]},
        },
    ]
    return records


def test_the_report_is_written(tmp_path):
    page = tmp_path / "docs" / "race.md"
    report.write(made_up(), {"processor": "abacus"}, page, tmp_path / "docs" / "race")
    text = page.read_text()
    for part_of_it in (
        "abacus",
        "no answer in 60 s",
        "## Growth with the number of rows: twonorm",
        "| scikit-learn | 1.90 |",
        "2.50",  # the median ratio on small data
        "`import widestreet` 100 ms",
        "widestreet race --quick",
        "](race/gap.png)",
    ):
        assert part_of_it in text
    folder = tmp_path / "docs" / "race"
    assert {"gap.png", "time-twonorm.png", "memory-twonorm.png"} <= {
        path.name for path in folder.iterdir()
    }
    assert sum(path.stat().st_size for path in folder.glob("*.png")) < 500_000
    with (folder / "results.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 13
    assert {"data", "rows", "solver", "tol", "seconds", "violation"} <= set(rows[0])


def test_everything_is_kept_as_json(tmp_path):
    report.write_json(made_up(), {"processor": "abacus"}, tmp_path / "results.json")
    found = json.loads((tmp_path / "results.json").read_text())
    assert found["machine"] == {"processor": "abacus"}
    assert len(found["records"]) == len(made_up())


def test_the_report_can_do_without_plots(tmp_path, monkeypatch):
    monkeypatch.setattr(plots, "draw", lambda records, folder: {})
    report.write(made_up(), {}, tmp_path / "report.md", tmp_path)
    assert "![" not in (tmp_path / "report.md").read_text()


def test_solvers_have_colours_of_their_own():
    styles = [(plots._style(n)["color"], plots._style(n)["marker"]) for n in SOLVERS]
    assert len(set(styles)) == len(styles)


# -- the command -------------------------------------------------------------------------------


def test_the_command_lists(capsys):
    assert main(["race", "--list"]) == 0
    out = capsys.readouterr().out
    assert all(name in out for name in (*SOLVERS, *TASKS))


def test_the_command_races_and_reports(tmp_path, capsys, monkeypatch):
    monkeypatch.delenv(files.DIRECTORY, raising=False)
    tiny = (Leg("twonorm", 200, (1e-3,)), Leg("ijcnn1"))
    monkeypatch.setattr(race, "quick", lambda: quick().__class__("quick", tiny, small=()))
    monkeypatch.setattr("widestreet.cli.race.import_module", lambda name: race)
    out, page = tmp_path / "out", tmp_path / "page.md"
    chosen = ["--solver", "widestreet", "--solver", "null"]
    options = ["race", "--quick", "--out", str(out), "--threads", "1", *chosen]
    assert main([*options, "--report", str(page)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "ijcnn1 is left out" in said
    assert "| twonorm | 200 |" in said
    assert page.exists()
    assert {"report.md", "results.csv", "results.json", "machine.json", "records"} <= {
        path.name for path in out.iterdir()
    }
    monkeypatch.setattr(race, "run", None)  # nothing is run
    assert main([*options, "--no-run"]) == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--data", "nobody"], "the full race has no nobody; it has "),
        (["--quick", "--data", "kdd99"], "the quick race has no kdd99"),
        (["--solver", "nobody"], "has no nobody"),
        (["--threads", "0"], "--threads must be"),
        (["--no-run"], "nothing to report on"),
    ],
    ids=str,
)
def test_bad_options_end_with_a_message(options, message, capsys, tmp_path):
    assert main(["race", "--out", str(tmp_path / "out"), *options]) == 2
    assert message in capsys.readouterr().err
