"""The page of a paper: its own sections between those that every page has."""

from __future__ import annotations

from pathlib import Path

from widestreet._experiments.harness.measurement import TOL
from widestreet._experiments.harness.records import answers
from widestreet._experiments.harness.report import (
    Section,
    Table,
    machine_section,
    write,
    write_records,
)
from widestreet._experiments.harness.words import DATA, fill
from widestreet._experiments.papers.paper import Findings, Paper

QUICK_SECONDS = 240.0  # after which a quick run starts nothing new

OPENING = """\
This page is written by `widestreet reproduce {name}`. Our numbers are computed from the records
of one run; the paper's numbers are those of its text, and where the text available here does not
give one, the table says so."""

QUICK = """\
**A quick run**: fewer rows and fewer repetitions than the paper's, and nothing new started after
{seconds:.0f} seconds. It shows that everything works and what the tables look like; the full run
is `widestreet reproduce {name}`."""

NO_WORDS = """\
A quick run is too small to compare with the paper; the page of the full run does."""

UNFINISHED = """\
Not everything was measured, so there is no comparison with the paper: {what} is missing."""

REPEAT = """\
    pip install "widestreet[plot]"
    WIDESTREET_DATA=/path/to/data widestreet reproduce {name}           # this page
    widestreet reproduce {name} --quick                                 # five minutes"""


def publish(
    paper: Paper, findings: Findings, machine: dict[str, str], page: Path, beside: Path
) -> None:
    """Write the page, its CSV files and its figures."""
    write(sections(paper, findings, machine), paper.title, page, beside)
    write_records(findings.records, beside / "results.csv")


def sections(paper: Paper, findings: Findings, machine: dict[str, str]) -> list[Section]:
    """Return everything below the title."""
    opening = [OPENING.format(name=paper.name), paper.reference]
    if findings.quick:
        opening.insert(1, QUICK.format(name=paper.name, seconds=QUICK_SECONDS))
    return [
        Section("", opening),
        Section("Comparison with the paper", [discussion(paper, findings)]),
        *paper.sections(findings),
        Section("Columns", [paper.columns.format(tol=TOL)]),
        Section("Data and parameters", [_problems(paper, findings), _missing(paper, findings)]),
        machine_section(machine, findings.records),
        Section("Repeat it", [REPEAT.format(name=paper.name), DATA]),
    ]


def discussion(paper: Paper, findings: Findings) -> str:
    """Return the paper's text with the numbers of a full run, or why there is none."""
    if findings.quick:
        return NO_WORDS
    try:
        return fill(paper.words.read_text(encoding="utf-8"), paper.facts(findings))
    except KeyError as missing:
        return UNFINISHED.format(what=missing.args[0])


def _problems(paper: Paper, findings: Findings) -> Table:
    """Return the table of the data."""
    lines = []
    for name, rows in findings.sizes().items():
        done = [r for r in answers(findings.records) if r["problem"] == name]
        if done:
            problem, r = paper.problems()[name], done[0]
            facts = [f"{rows:,}", f"{r['features']:,}", f"{r['test_rows']:,}"]
            source = getattr(problem, "source", "")
            lines.append([name, *facts, problem.parameters(), source, problem.origin])
    head = ["problem", "rows", "columns", "test rows", "parameters", "data"]
    return Table("problems", [*head, "origin of the parameters"], lines)


def _missing(paper: Paper, findings: Findings) -> str:
    """Return which data were missing."""
    lines = []
    for name in findings.sizes():
        why = paper.problems()[name].missing()
        if why and not any(r["problem"] == name for r in answers(findings.records)):
            lines.append(f"- `{name}` was not run: {why}.")
    return "\n".join(lines)
