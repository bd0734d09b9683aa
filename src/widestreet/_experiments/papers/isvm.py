"""iSVM: Table IV, Figure 2 and Table V.

The bodies of the paper's tables, and the parameters of its kernels, are not in the text available
here; what its prose says of them is below, with its section.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import Any

from widestreet._experiments.data import adult_and_web, ijcnn1, kdd99
from widestreet._experiments.harness.discovery import tasks
from widestreet._experiments.harness.measurement import AUTO, SKLEARN, Measurement, Method
from widestreet._experiments.harness.plots import COLOURS, tidy
from widestreet._experiments.harness.records import Record
from widestreet._experiments.harness.report import Figure, Section, Table
from widestreet._experiments.harness.tables import (
    CERTIFIED,
    DASH,
    NOT_IN_TEXT,
    Cell,
    Spread,
    accuracy,
    certified,
    count,
    percent,
    repeats,
    seconds,
    spread,
)
from widestreet._experiments.harness.tables import vectors as support
from widestreet._experiments.harness.task import Task
from widestreet._experiments.papers import data
from widestreet._experiments.papers.paper import Findings, Paper, Problem, slot

# -- the paper -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Printed:
    """The printed results of a method on a data set, and their place."""

    method: str
    time: str = NOT_IN_TEXT
    vectors: str = NOT_IN_TEXT
    accuracy: str = NOT_IN_TEXT
    place: str = ""


PRINTED = {
    "web": [Printed("iSVM"), Printed("LibSVM"), Printed("CoreSVM")],
    "ijcnn": [Printed("iSVM"), Printed("LibSVM"), Printed("CoreSVM")],
    "zero-one": [
        Printed("iSVM", vectors="0.45% of the rows", place="section V"),
        Printed("LibSVM"),
        Printed("CoreSVM"),
    ],
    "kdd99": [
        Printed("iSVM", "less than 3600", "0.01% of the rows", "94", "abstract, section V"),
        Printed("LibSVM", "seven hours", place="abstract"),
        Printed("CoreSVM", "2", place="section V"),
    ],
}
STAGE_ONE = {"iterations": "32", "time": "2.8", "rows": "at most 1900", "share": "0.04"}
PLACE_STAGE_ONE = "section V, the full KDD99 of nearly five million rows"
ELSEWHERE = ("data random sampling", "active SVM learning", "clustering-based")

# -- what is run -----------------------------------------------------------------------------------

ISVM = Method("isvm", "iSVM, literal", "ISVM", {"until_certified": False})
CERTIFIED_ISVM = Method("isvm-certified", "iSVM, until certified", "ISVM")
TABLE_IV = (ISVM, CERTIFIED_ISVM, AUTO, SKLEARN)
STOPS = (0.0, 0.1, 0.2, 0.4, 0.8)  # shares of the second stage, as in the paper's Figure 2
SHARES = (0.001, 0.01, 0.1)  # of the rows, for random sampling
LIMIT = 90.0


def stopping(share: float) -> Method:
    """iSVM with part of its second stage."""
    title = "iSVM, stage one only" if share == 0 else f"iSVM, {share:.0%} of stage two"
    chosen = {"until_certified": False, "scan_fraction": share}
    return Method(f"isvm-{share:g}", title, "ISVM", chosen)


def sampling(share: float) -> Method:
    """A model of a random part of the rows."""
    return Method(f"random-{share:g}", f"auto on a random {share:.1%} of the rows", share=share)


def problems() -> dict[str, Problem]:
    """Web, IJCNN, zero-one and KDD99."""
    every = data.EVERY
    web, ijcnn, kdd = tasks()["w7a"], tasks()["ijcnn1"], tasks()["kdd99"]
    digits = tasks()["mnist"]
    return {
        "web": like(
            web,
            partial(adult_and_web.load, "w7a", 300, False, test_rows=every),
            "w7a, tested on w7a.t: w8a, which has the paper's domain and size, has its test rows "
            "among its training rows",
        ),
        "ijcnn": like(
            ijcnn,
            partial(ijcnn1.load, test_rows=every),
            "ijcnn1: the first 35,000 rows train, the other 14,990 test",
        ),
        "zero-one": like(
            digits,
            data.zero_one,
            "MNIST 0 against 1, each training image also moved by a pixel up, down, left and "
            "right: stands in for the extended USPS",
            rows=63_325,
        ),
        "kdd99": like(
            kdd,
            partial(kdd99.load, test_rows=every),
            "KDD Cup 1999, the tenth of it (kddcup.data_10_percent), tested on all of corrected; "
            "the paper has all of it, ten times as many rows",
        ),
        "kdd99-apart": like(
            kdd,
            data.kdd99_apart,
            "the same with a column of random numbers up to 0.0001, so that no two rows are equal: "
            "widestreet merges equal rows before any strategy sees them, the paper's program did "
            "not",
        ),
    }


def like(task: Task, load: Any, source: str, rows: int = 0) -> Problem:
    """A task of the race with another split."""
    facts = {name: getattr(task, name) for name in task.__dataclass_fields__}
    origin = f"not in the text; those of the race ({task.origin})"
    changes = {"load": load, "rows": rows or task.rows, "source": source, "origin": origin}
    return Problem(**facts | changes)


def plan(quick: bool) -> list[Measurement]:
    """Return all methods with their seeds."""
    found = []
    for name, problem in problems().items():
        rows = min(problem.rows, QUICK_ROWS.get(name, 5_000)) if quick else problem.rows
        limit = 10.0 if quick else LIMIT
        for method in methods(name):
            runs = SEEDS.get(method.name, 10)
            seeds = range(min(2, runs) if quick else runs)
            found += [Measurement(name, rows, method, seed, limit) for seed in seeds]
    return found


def methods(problem: str) -> list[Method]:
    """Return the methods of Table IV, of Table V for KDD99, of Figure 2 for its rows kept apart."""
    if problem == APART:
        return [ISVM, *map(stopping, STOPS)]
    more = list(map(sampling, SHARES)) if problem == KDD else []
    return [ISVM, CERTIFIED_ISVM, AUTO, *more, SKLEARN]


KDD, APART = "kdd99", "kdd99-apart"
QUICK_ROWS = {KDD: 50_000, APART: 50_000}
# ten repetitions as in the paper, but two where the end is the optimum, and one without chance
SEEDS = {"isvm-certified": 2, "libsvm": 1}


def remarks(one: Measurement, trace: Any, watched: Any) -> Record:
    """Return how stage one ended."""
    for place, record in enumerate(trace):
        if "ended" in record.notes:
            return {
                "ended": record.notes["ended"],
                "stage_one_iterations": place,
                "stage_one_seconds": record.seconds,
                "stage_one_examined": record.notes["examined"],
            }
    return {}


# -- what is shown ---------------------------------------------------------------------------------


def sections(findings: Findings) -> list[Section]:
    """Table IV, stage one, Figure 2, Table V."""
    return [
        Section("Table IV: time, support vectors, accuracy", [table_four(findings)]),
        Section("How stage one ended", [STAGE_WORDS, stage_one(findings)]),
        Section(
            "Figure 2: accuracy against the stopping point, KDD99",
            [STOP_WORDS, stops(findings), *figure_two(findings)],
        ),
        Section("Table V: KDD99 by different methods", [TABLE_FIVE_WORDS, table_five(findings)]),
    ]


STAGE_WORDS = """\
Stage one ends when none of 59 random rows violates ("sample"), when the working set has more
than 1,000 rows ("size"), or when as many rows were examined as there are ("average")."""

STOP_WORDS = """\
Equal rows are kept apart, as in the paper's program: see kdd99-apart below. Time is that of the
algorithm alone, without the certificate that follows it. Bars are one standard deviation in each
direction, dots the runs, lines the accuracy of auto and LIBSVM."""

TABLE_FIVE_WORDS = """\
Random sampling is widestreet's `auto` on that share of the rows; its violation and gap are those
of the whole problem, in which the rows left out have coefficient zero."""


def table_four(findings: Findings) -> Table:
    """Return each method on each problem, then the printed results."""
    head = ["data", "rows", "method", "runs", "time, s", "SVs", "SVs, % of rows"]
    head += ["test accuracy, %", *CERTIFIED]
    lines: list[list[Cell]] = []
    for name, rows in findings.sizes().items():
        for method in TABLE_IV:
            runs = findings.of(name, method.name)
            if runs:
                lines.append([name, f"{rows:,}", method.title, *ours(runs, rows)])
        for said in PRINTED.get(name, []):
            blank: list[Cell] = [DASH] * len(CERTIFIED)
            facts: list[Cell] = [said.time, said.vectors, DASH, said.accuracy]
            lines.append([name, "", f"paper: {said.method}", DASH, *facts, *blank])
    return Table("table-4", head, lines)


def ours(runs: list[Record], rows: int) -> list[Cell]:
    """From the number of runs to the gap."""
    share: Cell = DASH
    counts = [r["n_sv"] for r in runs if r["status"] == "answer"]
    if counts:
        share = Spread([n / rows for n in counts], percent)
    cells: list[Cell] = [repeats(runs), seconds(runs), support(runs), share, accuracy(runs)]
    return [*cells, *certified(runs)]


def stage_one(findings: Findings) -> Table:
    """Iterations, rows and seconds of stage one."""
    head = ["data", "runs", "ended", "iterations", "rows examined", "% of rows", "time, s"]
    lines: list[list[Cell]] = []
    for name, rows in findings.sizes().items():
        runs = [r for r in findings.answers(name, ISVM.name) if "ended" in r]
        if runs:
            ends = Counter(r["ended"] for r in runs)
            share = Spread([r["stage_one_examined"] / rows for r in runs], percent)
            facts = [", ".join(f"{end} ({n})" for end, n in ends.items())]
            cells = [spread(runs, "stage_one_iterations", count)]
            cells += [spread(runs, "stage_one_examined", count), share]
            lines.append([name, repeats(runs), *facts, *cells, spread(runs, "stage_one_seconds")])
    said = STAGE_ONE
    facts = ["sample", said["iterations"], said["rows"], said["share"], said["time"]]
    lines.append([f"paper: kdd99 ({PLACE_STAGE_ONE})", "10", *facts])
    return Table("stage-one", head, lines)


def points(findings: Findings) -> list[tuple[str, list[Record]]]:
    """Stopping points and their runs, the whole of stage two last."""
    found = [(f"{stop:.0%}" if stop else "stage one", stopping(stop).name) for stop in STOPS]
    found.append(("100%", ISVM.name))
    return [(label, findings.answers(APART, name)) for label, name in found]


def stops(findings: Findings) -> Table:
    """The numbers of Figure 2."""
    head = ["stage two until", "runs", "time, s", "SVs", "test accuracy, %"]
    head += ["least, %", "most, %", "violation"]
    lines: list[list[Cell]] = []
    for label, runs in points(findings):
        if runs:
            values = [r["accuracy"] for r in runs]
            cells: list[Cell] = [label, repeats(runs), spread(runs, "engine_seconds")]
            cells += [support(runs), accuracy(runs), percent(min(values)), percent(max(values))]
            lines.append([*cells, certified(runs)[1]])
    said = STAGE_ONE["time"]
    lines.append(["paper: stage one", "10", said, *[NOT_IN_TEXT] * 2, *[DASH] * 3])
    return Table("figure-2", head, lines)


def figure_two(findings: Findings) -> list[Figure]:
    """Mean accuracy and its spread against mean time."""
    if not any(runs for _, runs in points(findings)):
        return []
    return [
        Figure(
            "figure-2",
            "Test accuracy of iSVM on KDD99 against the time of its stopping points",
            partial(draw, findings),
        )
    ]


def draw(findings: Findings) -> Any:
    from matplotlib.figure import Figure as Canvas

    canvas = Canvas(figsize=(7.2, 4.4), layout="constrained")
    panel = canvas.subplots()
    for label, runs in points(findings):
        if not runs:
            continue
        time = Spread([r["engine_seconds"] for r in runs]).mean
        values = Spread([100 * r["accuracy"] for r in runs])
        panel.errorbar(
            time, values.mean, yerr=values.deviation or 0.0, color=COLOURS[0], marker="o", capsize=4
        )
        panel.plot([time] * len(runs), values.values, ".", color=COLOURS[1], markersize=4, zorder=1)
        panel.annotate(label, (time, values.mean), (5, 6), textcoords="offset points", fontsize=9)
    for method, colour in ((AUTO, COLOURS[4]), (SKLEARN, COLOURS[3])):
        runs = findings.answers(KDD, method.name)
        if runs:
            level = Spread([100 * r["accuracy"] for r in runs]).mean
            panel.axhline(level, color=colour, linewidth=1, linestyle="--", label=method.title)
    panel.set_xscale("log")
    panel.set_xlabel("mean time, s")
    panel.set_ylabel("test accuracy, %")
    panel.legend(frameon=False, fontsize=9)
    tidy(panel)
    return canvas


def table_five(findings: Findings) -> Table:
    """Return KDD99 by every method."""
    head = ["method", "runs", "time, s", "SVs", "test accuracy, %", *CERTIFIED]
    lines: list[list[Cell]] = []
    chosen = [(KDD, method) for method in (*map(sampling, SHARES), *TABLE_IV)]
    chosen[-3:-3] = [(APART, stopping(0.0)), (APART, ISVM)]
    for problem, method in chosen:
        runs = findings.of(problem, method.name)
        if runs:
            cells = [repeats(runs), seconds(runs), support(runs), accuracy(runs)]
            apart = ", rows kept apart" if problem == APART else ""
            lines.append([f"{method.title}{apart}", *cells, *certified(runs)])
    blank: list[Cell] = [DASH] * len(CERTIFIED)
    for said in PRINTED[KDD]:
        facts: list[Cell] = [DASH, said.time, said.vectors, said.accuracy]
        lines.append([f"paper: {said.method}", *facts, *blank])
    lines += [[f"paper: {name}", DASH, *[NOT_IN_TEXT] * 3, *blank] for name in ELSEWHERE]
    return Table("table-5", head, lines)


def facts(findings: Findings) -> dict[str, str]:
    """Return the values of the places in the text."""
    found = findings.numbers()
    for name in ("web", "ijcnn", "zero-one", KDD):
        for slow, fast in (("libsvm", "isvm"), ("isvm", "auto"), ("isvm-certified", "auto")):
            found[slot(name, slow, f"times_{fast}")] = findings.times(name, slow, fast)
    for name in ("zero-one", KDD):
        vectors = findings.known(name, "isvm", "n_sv")
        found[slot("share", name, "isvm")] = percent(vectors / findings.sizes()[name])
        found[slot("paper", name, "share")] = PRINTED[name][0].vectors
    found["paper_iterations"] = STAGE_ONE["iterations"]
    found["paper_accuracy"] = PRINTED[KDD][0].accuracy
    for label, method in (("stage_one", stopping(0.0)), ("whole", ISVM)):
        deviation = findings.deviation(APART, method.name, "accuracy")
        found[f"deviation_{label}"] = percent(deviation)
    return found


PAPER = Paper(
    name="isvm",
    title="iSVM: two-stage incremental working set selection",
    reference=(
        '"Two-stage Incremental Working Set Selection for Fast Support Vector Training on Large '
        'Datasets": Table IV, Figure 2 and Table V. Its method is '
        "`widestreet.strategies.ISVM(until_certified=False)`; `ISVM()` continues until the "
        "solution is certified."
    ),
    problems=problems,
    plan=plan,
    sections=sections,
    facts=facts,
    remarks=remarks,
)
