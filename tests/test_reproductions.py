"""The reproductions: records, tables and figures, each paper in a miniature, the command."""

from __future__ import annotations

import csv
import json
import re
from argparse import Namespace
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from widestreet import datasets
from widestreet.benchmarks import files
from widestreet.benchmarks.records import Store
from widestreet.benchmarks.task import Split
from widestreet.cli import main
from widestreet.reproductions import (
    additions,
    cells,
    data,
    isvm,
    measure,
    page,
    papers,
    prsvm,
    randsvm,
    report,
    runner,
)
from widestreet.reproductions import main as command
from widestreet.reproductions.measurement import Measurement, from_facts
from widestreet.reproductions.method import AUTO, SKLEARN, Method
from widestreet.reproductions.paper import Findings
from widestreet.reproductions.report import Figure, Section, Table
from widestreet.reproductions.runner import Runner
from widestreet.reproductions.spread import Spread, count, percent

PAPERS = papers.PAPERS
PNG = b"\x89PNG\r\n\x1a\n"
TEST_ROWS = 100


@pytest.fixture(autouse=True)
def _alone(monkeypatch):
    """No real data, wherever they may be, and no threads that spin."""
    monkeypatch.delenv(files.DIRECTORY, raising=False)
    monkeypatch.delenv(files.DOWNLOAD, raising=False)
    with threadpool_limits(1):
        yield


def tiny(kind: str, n: int, seed: int = 0) -> Split:
    """Rows for any problem; some of them are equal."""
    generate = datasets.twonorm if kind == "svc" else datasets.friedman
    X, y = generate(n, random_state=seed)
    X_test, y_test = generate(TEST_ROWS, random_state=seed + 1)
    X[1], y[1] = X[0], y[0]
    return Split(X, y, X_test, y_test)


def miniature(paper, rows: int = 120):
    """The same paper with a few rows, generated for every problem, and two seeds."""
    problems = dict(paper.problems())
    for name, problem in problems.items():
        if problem.files:
            load = partial(tiny, problem.kind)
            problems[name] = replace(problem, load=load, files=())

    def small(one: Measurement) -> Measurement:
        chosen = dict(one.method.parameters)
        if "sample_size" in chosen:
            chosen |= {"sample_size": 40}
        if "k" in chosen:
            chosen |= {"k": 30}
        if "max_rounds" in chosen:
            chosen |= {"max_rounds": 3}
        if "trials" in chosen:
            chosen |= {"trials": 1, "sizes": chosen["sizes"][:2]}
        few = {"values": 4, "steps": 20, "folds": 2, "grid": [0.5, 2.0]}
        chosen |= {key: value for key, value in few.items() if key in chosen}
        method = replace(one.method, parameters=chosen)
        return replace(one, rows=rows, method=method)

    def plan(quick):
        return [small(one) for one in paper.plan(quick) if one.seed < 2]

    return replace(paper, problems=lambda: problems, plan=plan)


def here(paper, chosen):
    """Measure in this process."""
    return measure.measure(paper, chosen)


def answer(one: Measurement, **changes) -> dict:
    """A made-up record."""
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


# -- numbers and tables ------------------------------------------------------------------------


def test_a_spread_is_written_as_mean_and_deviation():
    assert str(Spread([0.5, 0.7], percent)) == "60.00 ± 14.14"
    assert str(Spread([1234.0], count)) == "1,234"
    assert str(Spread([0.00271, 0.00275])) == "0.00273 ± 0.00003"
    assert str(Spread([1200.0, 1300.0])) == "1,250 ± 71"
    assert Spread([3.0]).deviation is None


def test_tables_become_markdown_and_csv(tmp_path):
    lines = [["a", Spread([1.0, 3.0], count)], ["paper: a", "less than 3600"]]
    table = Table("one", ["method", "time, s"], lines)
    assert "| a | 2 ± 1 |" in table.markdown()
    table.write(tmp_path)
    with (tmp_path / "one.csv").open() as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["method", "time, s", "time, s: deviation"]
    assert [float(value) for value in rows[1][1:]] == pytest.approx([2.0, np.sqrt(2)])
    assert rows[2] == ["paper: a", "less than 3600", ""]


def drawing():
    from matplotlib.figure import Figure as Canvas

    canvas = Canvas()
    canvas.subplots().plot([1, 2])
    return canvas


def test_a_report_has_all_its_parts(tmp_path):
    parts = ["Words.", Table("t", ["x"], [["1"]]), Figure("f", "A line", drawing)]
    beside = tmp_path / "docs" / "paper"
    report.write([Section("One", parts)], "Title", tmp_path / "docs" / "paper.md", beside)
    text = (tmp_path / "docs" / "paper.md").read_text()
    places = ["# Title", "## One", "Words.", "| x |", "![A line](paper/f.png)"]
    assert sorted(places, key=text.index) == places
    assert (beside / "f.png").read_bytes().startswith(PNG)
    assert (beside / "t.csv").exists()


def test_a_report_without_matplotlib_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(report, "find_spec", lambda name: None)
    figure = Figure("f", "A line", lambda: pytest.fail("nobody can draw"))
    report.write([Section("One", [figure])], "Title", tmp_path / "page.md", tmp_path)
    assert "No picture without matplotlib: A line" in (tmp_path / "page.md").read_text()


def test_cells_say_why_there_is_no_time():
    one = Measurement("p", 10, AUTO, limit=60.0)
    assert str(cells.seconds([answer(one)])) == "1.5"
    assert cells.seconds([]) == "not run"
    assert cells.seconds([one.facts | {"status": "timeout"}]) == "> 60"
    assert cells.seconds([answer(one, certificate="time_limit")]) == "> 60"
    assert "no memory" in cells.seconds([one.facts | {"status": "failed", "reason": "no memory"}])


def test_cells_show_the_worst_certificate():
    one = Measurement("p", 10, AUTO)
    runs = [answer(one), answer(one, certificate="approximate", violation=2.0)]
    assert cells.certified(runs) == ["optimal (1), approximate (1)", "2.0e+00", "1.0e-05"]
    assert cells.certified([one.facts | {"status": "timeout"}]) == [cells.DASH] * 3
    hasty = answer(one, certificate="time_limit", violation=np.inf)
    assert cells.certified([hasty])[1] == "not computed"


# -- measurements ------------------------------------------------------------------------------


def test_a_measurement_survives_json():
    one = Measurement("kdd99", 100, isvm.stopping(0.1), 3, 60.0, 2)
    assert from_facts(json.loads(json.dumps(one.facts))) == one


def test_what_settles_a_measurement():
    one = Measurement("p", 10, AUTO, limit=60.0)
    assert not one.is_settled(None)
    assert one.is_settled(answer(one))
    assert not one.is_settled(answer(replace(one, threads=7)))
    other = replace(one, method=replace(AUTO, parameters={"hidden": 1}))
    assert not other.is_settled(answer(one))
    assert not one.is_settled(one.facts | {"status": "failed"})
    assert one.is_settled(one.facts | {"status": "timeout"})
    assert not replace(one, limit=600.0).is_settled(answer(one, certificate="time_limit"))


@pytest.mark.parametrize("method", [AUTO, SKLEARN], ids=lambda m: m.name)
def test_both_libraries_are_certified(method):
    paper = miniature(PAPERS["randsvm"])
    (found,) = measure.measure(paper, [Measurement("twonorm1", 120, method)])
    assert found["status"] == "answer"
    assert found["violation"] <= 1e-3
    assert 0.8 < found["accuracy"] <= 1
    assert ("certificate" in found) is method.ours


def test_a_sample_is_certified_over_all_rows():
    paper = miniature(PAPERS["isvm"], 400)
    sample = isvm.sampling(0.1)
    first, again = measure.measure(paper, [Measurement("web", 400, sample, seed=3)] * 2)
    assert first["trained_on"] == 40
    assert first["violation"] > 1e-3  # of rows that it did not see
    assert first["n_sv"] == again["n_sv"]


def test_regression_has_an_error_and_a_correlation():
    paper = miniature(PAPERS["randsvm"])
    (found,) = measure.measure(paper, [Measurement("friedman-a", 200, AUTO)])
    assert found["mse"] > 0
    assert 0.5 < found["rho"] < 1
    assert "accuracy" not in found


def test_an_error_is_a_record_and_the_next_one_goes_on():
    paper = miniature(PAPERS["isvm"])
    wrong = Method("wrong", "wrong", "ISVM", {"sample_size": 0})
    found = list(measure.measure(paper, [Measurement("web", 120, m) for m in (wrong, AUTO)]))
    assert [r["status"] for r in found] == ["failed", "answer"]
    assert "sample_size" in found[0]["reason"]


def test_data_that_are_not_there_are_a_record():
    one = Measurement("kdd99", 100, AUTO)
    (found,) = measure.measure(PAPERS["isvm"], [one])
    assert found["status"] == "absent"
    assert files.DIRECTORY in found["reason"]


# -- the runner --------------------------------------------------------------------------------


class Script:
    """Answers measurements by a function, and remembers them."""

    def __init__(self, said=lambda one: {}):
        self.said, self.asked = said, []

    def __call__(self, paper, chosen):
        for one in chosen:
            self.asked.append(one.name)
            record = answer(one) | self.said(one)
            yield record
            if "exit" in record:
                return


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
    assert run(tmp_path, plan_of(AUTO, seeds=3))[0].asked == ["twonorm1-50-auto-2"]


def test_a_record_is_stored_at_once(tmp_path):
    def said(one):
        if one.seed == 1:
            raise KeyboardInterrupt
        return {}

    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, plan_of(AUTO), said)
    assert run(tmp_path, plan_of(AUTO))[0].asked == ["twonorm1-50-auto-1"]


def test_a_method_that_is_too_late_is_not_tried_again(tmp_path):
    def said(one):
        return {} if one.method.ours else {"status": "timeout", "exit": -14}

    script, _ = run(tmp_path, plan_of(SKLEARN, AUTO), said)
    assert script.asked == ["twonorm1-50-libsvm-0", "twonorm1-50-auto-0", "twonorm1-50-auto-1"]


def test_a_crash_does_not_stop_the_others(tmp_path):
    def said(one):
        return {"status": "failed", "exit": -11} if one.seed == 0 else {}

    assert len(run(tmp_path, plan_of(AUTO, SKLEARN), said)[0].asked) == 4


def test_nothing_is_begun_after_the_deadline(tmp_path):
    script, made = run(tmp_path, plan_of(AUTO), seconds=-1.0)
    assert script.asked == []
    assert made.left_out == 2


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


# -- the papers --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PAPERS)
def test_plans_are_about_problems_and_have_no_doubles(name):
    paper = PAPERS[name]
    for quick in (True, False):
        plan = paper.plan(quick)
        assert {one.problem for one in plan} == set(paper.problems())
        assert len({one.name for one in plan}) == len(plan)
        assert len({(one.problem, one.rows) for one in plan}) == len(paper.problems())
    assert len(paper.plan(True)) <= len(paper.plan(False))


@pytest.mark.parametrize("name", PAPERS)
def test_a_miniature_of_the_paper(name, tmp_path, monkeypatch):
    """Everything from the fits to the pictures."""
    paper = miniature(PAPERS[name])
    monkeypatch.setitem(papers.PAPERS, name, paper)
    options = vars(parsed(name, "--out", str(tmp_path))) | {"threads": 1}
    assert command.main(Namespace(**options), here) == 0
    records = Store(tmp_path).all()
    assert {r["status"] for r in records} == {"answer"}
    assert len(records) == len(paper.plan(False))
    text = (tmp_path / "report.md").read_text()
    for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        widths = {line.count("|") for line in table.splitlines()}
        assert len(widths) == 1
    assert "paper: " in text or "paper, " in text
    assert "No picture" not in text
    for picture in re.findall(r"\]\(([^)]+\.png)\)", text):
        assert (tmp_path / picture).read_bytes().startswith(PNG)
    with (tmp_path / "results.csv").open() as file:
        assert len(list(csv.DictReader(file))) == len(records)


def parsed(*words) -> Namespace:
    """What the command line makes of words."""
    from widestreet.cli import _parser

    return _parser().parse_args(["reproduce", *words])


def findings_of(name) -> Findings:
    """Made-up answers to all of a full plan."""
    extra = {"mse": 1.0, "rho": 0.5, "rounds": 3, "engine_seconds": 1.0}
    extra |= {"ended": "sample", "sample_size": 9, "violators": 0}
    extra |= {f"stage_one_{what}": 5 for what in ("iterations", "seconds", "examined")}
    extra |= {"iterations": 2, "violators_each": [5, 0]}
    extra |= {"vectors_each": [3, 4], "doubled_each": [1, 0]}
    extra |= {"loo_accuracy": 0.8, "steps": 7, "processor": 0.5}
    plan = PAPERS[name].plan(False)
    return Findings(
        plan, [answer(one, **extra | made_up_cells(one) | made_up_lists(one)) for one in plan]
    )


def made_up_cells(one: Measurement) -> dict:
    """What trials of one more row find."""
    check = {"violation": 1e-12, "gap": 1e-12, "seconds": 0.1}
    cell = {"trials": 5, "failed": 0, "trials_with_case": 1, "steps": 2.0} | check
    cell |= dict.fromkeys((*additions.CASES, *additions.MORE, *additions.STAGES), 1)
    cell |= dict.fromkeys(additions.WAYS, check)
    return {"cells": [cell | {"size": size} for size in one.method.parameters.get("sizes", ())]}


def made_up_lists(one: Measurement) -> dict:
    """What measurements of several fits find."""
    asked, point = one.method.parameters, {"at": [0, 5], "objective": [1.0, 0.5]}
    end = {"ensemble": 0.1, "last": 0.2, "steps": 5}
    curve = point | {"steps": 5, "ended": True}
    curves = [curve | {"rate": rate} for rate in ("literal", "adaptive")]
    fixed = [curve | {"rate": rate} for rate in asked.get("rates", ())]
    curves += [one | {"scale": scale} for scale in ("1", "m", "2m") for one in fixed]
    cells = {"cells": [end for _ in asked["epsilons"]]} if "epsilons" in asked else {}
    return {"curves": curves, "tried": [0.9, 0.8]} | cells


@pytest.mark.parametrize("name", PAPERS)
def test_the_words_have_all_their_numbers(name):
    paper, findings = PAPERS[name], findings_of(name)
    words = page.discussion(paper, findings)
    assert "is missing" not in words
    assert "{" not in words
    empty = Findings(paper.plan(False), [])
    if "{" in paper.words.read_text():
        assert "is missing" in page.discussion(paper, empty)


@pytest.mark.parametrize("name", PAPERS)
def test_words_hold_no_measured_numbers(name):
    """Whatever has decimals comes from the records, or from the paper's own tables."""
    words = re.sub(r"\{[^}]*\}", "", PAPERS[name].words.read_text())
    assert not re.findall(r"\d\.\d", words)


@pytest.mark.parametrize("name", PAPERS)
def test_a_report_without_data_says_what_is_missing(name, tmp_path, capsys):
    paper = PAPERS[name]
    wanted = [n for n, problem in paper.problems().items() if problem.files]
    options = parsed(name, "--quick", "--out", str(tmp_path))
    assert command.main(options, lambda paper, chosen: Script()(paper, chosen)) == 0
    text, said = (tmp_path / "report.md").read_text(), capsys.readouterr().out
    for problem in wanted:
        assert f"`{problem}` was not run: needs" in text
        assert f"{problem} is left out" in said
    assert "A quick run" in text


def test_the_bound_of_randsvm():
    """Equation 7, and the number that section 5 implies for 100,000 rows."""
    assert randsvm.bound(100_000, 16, 0.9) == np.ceil(400 * np.log(4e5 / 0.9))
    chosen = randsvm.letter("twonorm1", 100_000).parameters
    assert chosen["k"] == randsvm.bound(100_000, 32, 0.9)
    assert chosen["sample_size"] > chosen["k"]


def test_isvm_reports_how_stage_one_ended():
    paper = miniature(PAPERS["isvm"])
    (found,) = measure.measure(paper, [Measurement("web", 120, isvm.ISVM)])
    assert found["ended"] in ("sample", "size", "average")
    assert found["stage_one_iterations"] < found["rounds"]
    assert found["certificate"] == "approximate"


def test_prsvm_reports_every_iteration_and_the_weights():
    one = Measurement(prsvm.GAUSSIANS, 300, prsvm.letter(1, 60, 20))
    (found,) = measure.measure(PAPERS["prsvm"], [one])
    assert found["iterations"] == len(found["violators_each"]) == len(found["doubled_each"])
    assert {len(levels) for levels in found["levels"]} == {300}
    assert sum(found["levels"][-1]) > 0
    if found["certificate"] == "optimal":
        assert found["violators_each"][-1] == 0


# -- data --------------------------------------------------------------------------------------


def test_tables_with_months_and_days(tmp_path, monkeypatch):
    monkeypatch.setenv(files.DIRECTORY, str(tmp_path))
    (tmp_path / "fires.csv").write_text("x,month,y,day\n1,mar,5,sun\n3,jan,9,mon\n2,dec,7,tue\n")
    data.columns.cache_clear()
    X, y = data.columns("fires.csv")
    assert X.tolist() == [[1, 3, 7], [3, 1, 1], [2, 12, 2]]
    assert y.tolist() == [5, 9, 7]
    split = data.pool("fires.csv", 2.0, 10)
    assert split.y.tolist() == [2.5, 4.5, 3.5]
    assert split.X.min(axis=0).tolist() == [0, 0, 0]
    assert split.X.max(axis=0) == pytest.approx(1)
    assert len(data.pool("fires.csv", 1.0, 2).y) == 2
    (tmp_path / data.YEAR).write_text("2001,1.5,2\n1990,2.5,3\n")
    assert data.columns(data.YEAR)[1].tolist() == [2001, 1990]


def test_images_are_shifted_by_a_pixel():
    image = np.arange(data.SIDE**2).reshape(1, -1)
    square = image.reshape(data.SIDE, data.SIDE)
    down = data.shifted(image, 1, 0).reshape(data.SIDE, data.SIDE)
    assert np.array_equal(down[1:], square[:-1])
    assert not down[0].any()
    left = data.shifted(image, 0, -1).reshape(data.SIDE, data.SIDE)
    assert np.array_equal(left[:, :-1], square[:, 1:])
    assert not left[:, -1].any()
    assert np.array_equal(data.shifted(image, 0, 0), image)


def test_zeros_and_ones(monkeypatch):
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 4)
    X = rng.integers(0, 255, (12, data.SIDE**2))
    monkeypatch.setattr(data.mnist, "digits", lambda: (X, y, X, y))
    split = data.zero_one(1000)
    assert split.X.shape == (40, data.SIDE**2)
    assert split.X_test.shape == (8, data.SIDE**2)
    assert set(split.y) == {-1, 1}
    assert split.X.max() <= 1
    labels = data.digit_labels(1000)
    assert set(labels.y) == {0, 1 / 9, 2 / 9}


def test_rows_of_kdd99_are_kept_apart(monkeypatch):
    same = Split(np.ones((6, 3)), np.ones(6), np.ones((2, 3)), np.ones(2))
    monkeypatch.setattr(data.kdd99, "load", lambda n, test_rows: same)
    split = data.kdd99_apart(6)
    assert len(np.unique(split.X, axis=0)) == 6
    assert split.X_test.shape == (2, 4)


def test_forests_and_news(monkeypatch):
    rng = np.random.default_rng(0)
    n = 20_000
    X, y = rng.random((n, 3)), rng.integers(1, 8, n)
    monkeypatch.setattr(data.covtype, "scaled", lambda: (X, y))
    assert set(np.unique(data.forest_labels(500).y)) == {i / 6 for i in range(7)}
    assert set(np.unique(data.forest_class(500).y)) == {-1, 1}
    labels = rng.integers(1, 21, n)
    monkeypatch.setattr(data, "svmlight", lambda name, features: (X, labels))
    assert set(np.unique(data.news_groups((1, 2), 500).y)) == {-1, 1}


def test_generated_sets_are_always_the_same():
    for load in (data.friedman, lambda n: data.two_gaussians(1.5, n)):
        first, again = load(50), load(50)
        assert np.array_equal(first.X, again.X)
        assert len(first.y) == 50
    y = data.two_gaussians(1.5, 51).y
    assert abs(y.sum()) == 1


# -- the command -------------------------------------------------------------------------------


def test_an_unknown_paper(capsys):
    assert main(["reproduce", "novel"]) == 2
    message = capsys.readouterr().err
    assert all(name in message for name in ("novel", *PAPERS))
    assert main(["reproduce"]) == 2
    message = capsys.readouterr().err
    assert all(name in message for name in PAPERS)


def test_the_list(capsys):
    assert main(["reproduce", "--list"]) == 0
    said = capsys.readouterr().out
    assert all(f"{name}: " in said for name in PAPERS)
    assert files.DIRECTORY in said
    assert main(["reproduce", "prsvm", "--list", "--quick"]) == 0
    said = capsys.readouterr().out
    assert "two-gaussians" in said
    assert "isvm:" not in said


def test_nothing_to_report_on(tmp_path, capsys):
    assert main(["reproduce", "isvm", "--no-run", "--out", str(tmp_path)]) == 2
    assert "nothing to report on" in capsys.readouterr().err
    assert main(["reproduce", "isvm", "--threads", "0", "--out", str(tmp_path)]) == 2


def test_an_interrupted_run_goes_on(tmp_path, monkeypatch, capsys):
    def interrupted(one):
        raise KeyboardInterrupt

    options = parsed("prsvm", "--quick", "--out", str(tmp_path), "--threads", "1")
    with pytest.raises(KeyboardInterrupt):
        command.main(options, Script(interrupted))
    assert "goes on from here" in capsys.readouterr().out
    script = Script()
    assert command.main(options, script) == 0
    assert script.asked
    again = Script()
    assert command.main(options, again) == 0
    assert again.asked == []


def test_the_page_and_what_is_beside_it(tmp_path, capsys):
    target = tmp_path / "docs" / "prsvm.md"
    words = ["prsvm", "--quick", "--out", str(tmp_path / "out"), "--report", str(target)]
    assert command.main(parsed(*words), Script()) == 0
    assert target.exists()
    assert (target.parent / "prsvm" / "table-1.csv").exists()
    assert str(target) in capsys.readouterr().out
    assert command.main(parsed(*words, "--no-run"), Script(pytest.fail)) == 0


def test_outcomes_in_a_line():
    one = Measurement("p", 10, AUTO, limit=60.0)
    assert command.outcome(answer(one)) == "1.5 s, accuracy 0.9000, 10 SVs, optimal"
    assert command.outcome(one.facts | {"status": "timeout"}) == "not done after 60 s"
    assert "boom" in command.outcome(one.facts | {"status": "failed", "reason": "boom"})


def test_words_are_shipped():
    for paper in PAPERS.values():
        assert Path(paper.words).exists()
