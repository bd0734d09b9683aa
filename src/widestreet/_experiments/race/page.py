"""The page of the race: what the records say, as Markdown, CSV and plots."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from widestreet._experiments.harness import report
from widestreet._experiments.harness.discovery import solvers, tasks
from widestreet._experiments.harness.records import Record
from widestreet._experiments.harness.report import Part, Section
from widestreet._experiments.harness.solver import CACHE_MB
from widestreet._experiments.harness.tables import digits, markdown
from widestreet._experiments.harness.task import TEST_ROWS
from widestreet._experiments.harness.words import DATA
from widestreet._experiments.race import comparison, luck, plots
from widestreet._experiments.race.comparison import FEASIBLE, OURS, SMALL, TARGET, Outcome
from widestreet._experiments.race.small import FITS, SIZES, ratio
from widestreet._experiments.race.tables import CELLS, cells

OPENING = """\
This page is written by `widestreet race`; every number is from its records."""

METHOD = """\
Each cell is the training time of a library divided by that of widestreet. Tolerances of
different libraries do not mean the same, so runs are compared by the violation they reached: the
certificate of widestreet examines the dual coefficients of every library and recomputes scores,
objectives and the violation of the optimality conditions (KKT) in float64 over every row. Every
library is run at several tolerances, and **its fastest run with a certified violation of at most
{target}** (to two digits) and constraints violated by at most {feasible} of the boxes is
compared; the same for widestreet. If the planned tolerances do not reach this violation, smaller
ones are tried. "never" is followed by the smallest violation a library reached; "timed out after
N s" means that its fit was killed after N seconds, and "more than" is N divided by the time of
widestreet."""

COLUMNS = """\
Each run is a process of its own, one at a time, with a fixed number of threads, after a small
fit on other rows. *time*: wall clock of the fit, the median of up to three if they are short.
*peak*: memory during the first fit beyond what was held before it. *SVs*: rows with a nonzero
coefficient. *violation*, *relative gap* (primal minus dual objective, divided by the larger) and
*dual objective* are computed by the certificate; for several classes, the worst pair and the
sums. *test score*: accuracy, or the coefficient of determination for regression, on at most
{test_rows} rows that were not trained on. *prediction*: seconds for these. `results.csv` beside
the plots has all of it."""

CAVEATS = """\
- All libraries get the same rows: float64 in C order, or CSR. A library that takes no CSR gets
  dense rows; this conversion is not timed, nor is LIBSVM's to its own format. Everything that a
  library converts or checks in its `fit` is timed, and so is the certificate that widestreet
  computes at the end of each fit.
- A library that has a cache of kernel rows may use {cache} MB for it; widestreet may use {cache} MB
  in all.
- The parameters of the problems are the same for every library and were not tuned; no library has
  settings for one data set.
- A library that computes in float32 may stop improving above the violation of the comparison; the
  table then says "never".
- Threads that wait by spinning (OpenMP in LIBSVM and ThunderSVM) are slowed more than others by
  other processes: race on a quiet machine; `--disturbed` repeats the runs that were disturbed.
- This is one run on one machine: small differences between ratios mean nothing."""

REPEAT = """\
    pip install "widestreet[race]"
    widestreet race --quick          # five minutes
    WIDESTREET_DATA=/path/to/data widestreet race    # everything, hours

In a checkout `make race` is the last of these and writes this page. A library or a data set is
added by one file in `_experiments/solvers` or `_experiments/data`."""


def publish(records: list[Record], machine: dict[str, str], page: Path, beside: Path) -> None:
    """Write the page, and results.csv and the plots into a folder beside it."""
    records = in_order(records)
    report.write(sections(records, machine), "Race", page, beside)
    report.write_records(comparison.fits(records), beside / "results.csv")


def in_order(records: list[Record]) -> list[Record]:
    """Sort by task, rows, solver and tolerance, as the folders list them."""
    data, names = list(tasks()), list(solvers())

    def place(r: Record) -> tuple[Any, ...]:
        task = data.index(r["problem"]) if r.get("problem") in data else len(data)
        name = r["method"]["name"] if "method" in r else ""
        solver = names.index(name) if name in names else len(names)
        return task, r.get("rows", 0), solver, -r.get("tol", 0.0)

    return sorted(records, key=place)


def sections(records: list[Record], machine: dict[str, str]) -> list[Section]:
    """Return the whole page."""
    method = METHOD.format(target=f"{TARGET:g}", feasible=f"{FEASIBLE:g}")
    return [
        Section("", [OPENING]),
        report.machine_section(machine, comparison.fits(records)),
        Section("Times at the same violation", [method, ratios(records), _solvers(records)]),
        Section("Time against gap", plots.gaps(records)),
        *(_growth(records, data) for data in comparison.growing(records)),
        Section("Luck", _luck(records)),
        Section("Small data", _small(records)),
        Section("Every run", [COLUMNS.format(test_rows=f"{TEST_ROWS:,}"), _runs(records)]),
        Section("Data and parameters", [_tasks(records)]),
        Section("Limits of this comparison", [CAVEATS.format(cache=CACHE_MB)]),
        Section("Repeat it", [REPEAT, DATA]),
    ]


# -- the comparison --------------------------------------------------------------------------------


def racers(records: list[Record]) -> list[str]:
    """Return the solvers with at least one record, without the null solver."""
    there = {r["method"]["name"] for r in comparison.fits(records)}
    return [name for name, solver in solvers().items() if name in there and solver.uses_tol]


def ratios(records: list[Record]) -> str:
    """Return the table of our times, and of the others' divided by ours."""
    taking = [r for r in comparison.fits(records) if r["status"] != "absent"]
    entered = {r["method"]["name"] for r in taking}
    others = [name for name in racers(records) if name != OURS and name in entered]
    head = [
        "data",
        "rows",
        "widestreet, s",
        *(f"{solvers()[name].title}, times" for name in others),
    ]
    lines = []
    for data, rows in comparison.lines(records):
        ours = comparison.judge(comparison.of(records, data, rows, OURS))
        line = [data, f"{rows:,}", digits(ours.best["seconds"]) if ours.best else _miss(ours)]
        for name in others:
            theirs = comparison.judge(comparison.of(records, data, rows, name))
            line.append(_times(theirs, ours))
        lines.append(line)
    return markdown(head, lines)


def _times(theirs: Outcome, ours: Outcome) -> str:
    """Return a cell of the comparison."""
    found = comparison.ratio(theirs, ours)
    if found is not None:
        return digits(found)
    if theirs.best is not None:
        return f"{digits(theirs.best['seconds'])} s"
    least = comparison.at_least(theirs, ours)
    return (f"more than {digits(least)}: " if least is not None else "") + _miss(theirs)


def _miss(outcome: Outcome) -> str:
    """Return why there is no time to compare."""
    if outcome.closest is not None:
        r = outcome.closest
        late = f", timed out after {digits(outcome.limit)} s below" if outcome.limit else ""
        return f"never; {r['violation']:.1e} at tol {r['tol']:g} ({digits(r['seconds'])} s){late}"
    if outcome.limit:
        return f"timed out after {digits(outcome.limit)} s"
    return outcome.reason.replace("|", "/") or "not run"


def _solvers(records: list[Record]) -> str:
    """Return which solvers took part and how, and why others did not."""
    lines = []
    for name, solver in solvers().items():
        runs = [r for r in comparison.fits(records) if r["method"]["name"] == name]
        ran = [r for r in runs if r["status"] != "absent"]
        if ran:
            version = next((r["version"] for r in ran if r.get("version")), "")
            note = solver.note.format(threads=ran[0]["threads"])
            lines.append([solver.title, version, note])
        elif solver.invited and solver.uses_tol:
            why = runs[0]["reason"] if runs else solver.absent() or "not run"
            lines.append([solver.title, "", f"not in the race: {why}"])
    return markdown(["solver", "version", "how it is run"], lines)


# -- growth ----------------------------------------------------------------------------------------


def _growth(records: list[Record], data: str) -> Section:
    lines = []
    for name in racers(records):
        points = comparison.growth(records, data, name, "seconds")
        slope = comparison.exponent(points)
        if points:
            power = "too few sizes" if slope is None else f"{slope:.2f}"
            sizes = ", ".join(f"{n:,}: {digits(s)} s" for n, s in points)
            lines.append([solvers()[name].title, power, sizes])
    text = (
        "The exponent p of time = c rows^p, fitted by least squares in logarithms to the runs that "
        "count."
    )
    table = markdown(["solver", "exponent", "time by rows"], lines)
    title = f"Growth with the number of rows: {data}"
    return Section(title, [text, table, *plots.growths(records, data)])


# -- luck ------------------------------------------------------------------------------------------

DRAWS = """\
Training draws rows at random, and a processor may have several instruction sets. Times of
widestreet at tol 1e-3 over random seeds, one process for each line. Kernel values are counted, so
that their ratio does not depend on other programs."""


def _luck(records: list[Record]) -> list[Part]:
    found = luck.of(records)
    return [DRAWS, luck.table(found), luck.unfair(found)] if found else []


# -- small data ------------------------------------------------------------------------------------


def _small(records: list[Record]) -> list[Part]:
    found = {r["method"]["name"]: r for r in records if r.get("problem") == SMALL}
    imported = [r for r in records if "imports" in r]
    ours = found.get(OURS)
    parts: list[Part] = []
    if ours is not None and ours["status"] == "answer":
        lines = []
        for name in (name for name in solvers() if name in found):
            r = found[name]
            if r["status"] == "answer" and solvers()[name].uses_tol:
                lines.append(_small_line(name, r, ours))
        count, least, most = len(ours["sizes"]), min(SIZES), max(SIZES)
        parts += [
            f"{count} problems of {least:,} to {most:,} rows at tol 1e-3, all in one process per "
            f"solver; the smallest of {FITS} times counts for each.",
            markdown(
                ["solver", "median time, ms", "median ratio to ours", "worst violation"], lines
            ),
        ]
    for r in imported:
        words = [f"`import {name}` {1000 * value:.0f} ms" for name, value in r["imports"].items()]
        repeats = len(next(iter(r["all_imports"].values())))
        parts.append(f"Fresh processes, medians of {repeats}: {', '.join(words)}.")
    return parts


def _small_line(name: str, record: Record, ours: Record) -> list[str]:
    middle = sorted(record["seconds_each"])[len(record["seconds_each"]) // 2]
    return [
        solvers()[name].title,
        f"{1000 * middle:.2f}",
        f"{ratio(record, ours):.2f}",
        f"{max(record['violations']):.1e}",
    ]


# -- everything ------------------------------------------------------------------------------------


def _runs(records: list[Record]) -> str:
    parts = []
    for data, rows in comparison.lines(records):
        lines = []
        for name in solvers():
            lines += [
                [solvers()[name].title, f"{r['tol']:g}", *cells(r)]
                for r in comparison.of(records, data, rows, name)
                if r["status"] != "absent"
            ]
        if lines:
            parts += [f"### {data}, {rows:,} rows", markdown(["solver", "tol", *CELLS], lines)]
    return "\n\n".join(parts)


def _tasks(records: list[Record]) -> str:
    there = {data for data, _ in comparison.lines(records)}
    shape = {r["problem"]: r for r in comparison.fits(records) if "test_rows" in r}
    lines: list[Sequence[str]] = []
    for name, task in tasks().items():
        if name in there and name in shape:
            r = shape[name]
            facts = [
                f"{r['features']:,}",
                r["layout"],
                f"{r['test_rows']:,}" if "test_rows" in r else "",
            ]
            lines.append([name, task.kind.upper(), *facts, task.parameters(), task.origin])
    head = ["data", "task", "columns", "layout", "test rows", "parameters"]
    found = markdown([*head, "origin of the parameters"], lines)
    missing = [f"`{name}`" for name in tasks() if name not in there]
    return found + (f"\n\nNot in this run: {', '.join(missing)}." if missing else "")
