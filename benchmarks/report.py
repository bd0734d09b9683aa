"""The report: what the records say, as Markdown, CSV, JSON and plots."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from . import comparison, plots
from .comparison import OURS, Outcome
from .discovery import solvers, tasks
from .records import NOISY, Record, answers, disturbed
from .rule import FEASIBLE, TARGET
from .small import FITS, SIZES, ratio
from .solver import CACHE_MB
from .tables import CELLS, cells, digits, markdown
from .task import TEST_ROWS
from .words import CAVEATS, COLUMNS, METHOD, REPEAT


def write(records: list[Record], machine: dict[str, str], page: Path, beside: Path) -> None:
    """Write the page, and results.csv and the plots into a folder beside it.

    Parameters
    ----------
    records : list of dict
    machine : dict
        What `machine.describe` returned when the race was run.
    page : Path
        The Markdown file.
    beside : Path
        That folder; the page's own, or one in it.
    """
    beside.mkdir(parents=True, exist_ok=True)
    page.parent.mkdir(parents=True, exist_ok=True)
    records = in_order(records)
    pictures = plots.draw(records, beside)
    _csv(records, beside / "results.csv")
    where = relative(beside, page)
    links = {name: f"![{title}]({where}{name})" for name, title in pictures.items()}
    page.write_text(text(records, machine, links), encoding="utf-8")


def write_json(records: list[Record], machine: dict[str, str], path: Path) -> None:
    """Write everything that is known."""
    known = {"machine": machine, "records": in_order(records)}
    path.write_text(json.dumps(known, indent=1))


def relative(folder: Path, page: Path) -> str:
    """How the page reaches the folder, with a slash unless it is the same."""
    if folder.resolve() == page.parent.resolve():
        return ""
    return f"{folder.resolve().relative_to(page.parent.resolve())}/"


def in_order(records: list[Record]) -> list[Record]:
    """By task, rows, solver and tolerance, as the folders list them."""
    data, names = list(tasks()), list(solvers())

    def place(r: Record) -> tuple[Any, ...]:
        task = data.index(r["data"]) if r.get("data") in data else len(data)
        solver = names.index(r["solver"]) if r["solver"] in names else len(names)
        return task, r.get("rows", 0), solver, -r.get("tol", 0.0)

    return sorted(records, key=place)


def _csv(records: list[Record], path: Path) -> None:
    """Everything that is one number or one word."""
    rows = [
        {k: v for k, v in r.items() if not isinstance(v, list | dict)}
        for r in comparison.fits(records)
    ]
    names = list(dict.fromkeys(name for row in rows for name in row))
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, names)
        writer.writeheader()
        writer.writerows(rows)


def text(records: list[Record], machine: dict[str, str], links: dict[str, str]) -> str:
    """The page."""
    parts = [
        "# Race",
        "This page is written by `widestreet race`; every number is from its records.",
        "## Machine",
        markdown(["", ""], [[name, value] for name, value in machine.items()]),
        _noise(records),
        "## To the same violation",
        METHOD.format(target=f"{TARGET:g}", feasible=f"{FEASIBLE:g}"),
        ratios(records),
        _solvers(records),
        "## Time against gap" if "gap.png" in links else "",
        links.get("gap.png", ""),
        _growths(records, links),
        _small(records),
        "## Every run",
        COLUMNS.format(test_rows=f"{TEST_ROWS:,}"),
        _runs(records),
        "## Data and parameters",
        _tasks(records),
        "## What to keep in mind",
        CAVEATS.format(cache=CACHE_MB),
        "## Repeat it",
        REPEAT,
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


# -- the comparison --------------------------------------------------------------------------------


def racers(records: list[Record]) -> list[str]:
    """Solvers with at least one record, without the null solver."""
    there = {r["solver"] for r in comparison.fits(records)}
    return [name for name, solver in solvers().items() if name in there and solver.uses_tol]


def ratios(records: list[Record]) -> str:
    """Our time, and how many times as long the others took."""
    entered = {r["solver"] for r in comparison.fits(records) if r["status"] != "absent"}
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
    """A cell of the comparison."""
    found = comparison.ratio(theirs, ours)
    if found is not None:
        return digits(found)
    if theirs.best is not None:
        return f"{digits(theirs.best['seconds'])} s"
    least = comparison.at_least(theirs, ours)
    return (f"more than {digits(least)}: " if least is not None else "") + _miss(theirs)


def _miss(outcome: Outcome) -> str:
    """Why there is no time to compare."""
    if outcome.closest is not None:
        r = outcome.closest
        late = f", no answer in {digits(outcome.limit)} s below" if outcome.limit else ""
        return f"never; {r['violation']:.1e} at tol {r['tol']:g} ({digits(r['seconds'])} s){late}"
    if outcome.limit:
        return f"no answer in {digits(outcome.limit)} s"
    return outcome.reason.replace("|", "/") or "not run"


def _noise(records: list[Record]) -> str:
    """Whether the machine was quiet."""
    known = [r for r in answers(comparison.fits(records)) if r.get("others") is not None]
    if not known:
        return ""
    loud = sum(map(disturbed, known))
    return (
        f"During {loud} of {len(known)} runs of half a second or more, other processes kept more "
        f"than {NOISY:g} processors busy (the column `others` of results.csv)."
    )


def _solvers(records: list[Record]) -> str:
    """Who took part, how, and who did not, and why."""
    head = ["solver", "version", "how it is run"]
    used = next((r["threads"] for r in comparison.fits(records)), 0)
    lines = []
    for solver in solvers().values():
        why = solver.absent()
        note = f"not in the race: {why}" if why else solver.note.format(threads=used)
        lines.append([solver.title, "" if why else solver.version(), note])
    return markdown(head, lines)


# -- growth ----------------------------------------------------------------------------------------


def _growths(records: list[Record], links: dict[str, str]) -> str:
    parts = []
    for data in comparison.growing(records):
        lines = []
        for name in racers(records):
            points = comparison.growth(records, data, name, "seconds")
            slope = comparison.exponent(points)
            if points:
                power = "too few sizes" if slope is None else f"{slope:.2f}"
                sizes = ", ".join(f"{n:,}: {digits(s)} s" for n, s in points)
                lines.append([solvers()[name].title, power, sizes])
        parts += [
            f"## Growth with the number of rows: {data}",
            "Time grows like rows to the power of the exponent, fitted by least squares in "
            "logarithms to the runs that count.",
            markdown(["solver", "exponent", "time by rows"], lines),
            links.get(f"time-{data}.png", ""),
            links.get(f"memory-{data}.png", ""),
        ]
    return "\n\n".join(part for part in parts if part)


# -- small data ------------------------------------------------------------------------------------


def _small(records: list[Record]) -> str:
    found = {r["solver"]: r for r in records if r.get("measures") == "small"}
    imported = [r for r in records if r.get("measures") == "imports"]
    ours = found.get(OURS)
    parts = []
    if ours is not None and ours["status"] == "answer":
        lines = []
        for name in (name for name in solvers() if name in found):
            r = found[name]
            if r["status"] == "answer" and solvers()[name].uses_tol:
                lines.append(_small_line(name, r, ours))
        count, least, most = len(ours["sizes"]), min(SIZES), max(SIZES)
        parts += [
            f"{count} problems of {least:,} to {most:,} rows at tol 1e-3, all in one process per "
            f"solver, the least of {FITS} times for each.",
            markdown(
                ["solver", "median time, ms", "median ratio to ours", "worst violation"], lines
            ),
        ]
    for r in imported:
        words = [f"`import {name}` {1000 * value:.0f} ms" for name, value in r["imports"].items()]
        repeats = len(next(iter(r["all_imports"].values())))
        parts.append(f"Fresh processes, medians of {repeats}: {', '.join(words)}.")
    return "\n\n".join(["## Small data", *parts]) if parts else ""


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
    shape = {r["data"]: r for r in comparison.fits(records) if "test_rows" in r}
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
    found = markdown(
        ["data", "task", "columns", "layout", "test rows", "parameters", "why these"], lines
    )
    missing = [f"`{name}`" for name in tasks() if name not in there]
    return found + (f"\n\nNot in this run: {', '.join(missing)}." if missing else "")
