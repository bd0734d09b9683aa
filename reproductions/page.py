"""The page of a paper: its sections between what every page has."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from widestreet.benchmarks.records import NOISY, Record, answers, disturbed
from widestreet.benchmarks.tables import markdown

from .method import TOL
from .paper import Findings, Paper
from .report import Section, Table, write, write_records
from .words import NO_WORDS, OPENING, QUICK, REPEAT, UNFINISHED

QUICK_SECONDS = 240.0  # after which a quick run begins nothing new


def publish(
    paper: Paper, findings: Findings, machine: dict[str, str], page: Path, beside: Path
) -> None:
    """Write the page, its CSV files and its figures."""
    write(sections(paper, findings, machine), paper.title, page, beside)
    write_records(findings.records, beside / "results.csv")


def sections(paper: Paper, findings: Findings, machine: dict[str, str]) -> list[Section]:
    """Everything below the title."""
    opening = [OPENING.format(name=paper.name), paper.reference]
    if findings.quick:
        opening.insert(1, QUICK.format(name=paper.name, seconds=QUICK_SECONDS))
    loud = _noise(findings.records)
    parts = [
        Section("", opening),
        Section("What agrees, what does not, and why", [discussion(paper, findings)]),
        *paper.sections(findings),
        Section("Columns", [paper.columns.format(tol=TOL)]),
        Section("Data and parameters", [_problems(paper, findings), _missing(paper, findings)]),
        Section("Machine", [markdown(["", ""], [[k, v] for k, v in machine.items()]), loud]),
        Section("Repeat it", [REPEAT.format(name=paper.name)]),
    ]
    return [part for part in parts if any(part.parts)]


def discussion(paper: Paper, findings: Findings) -> str:
    """The paper's words with the numbers of a full run, or why there are none."""
    if findings.quick:
        return NO_WORDS
    try:
        facts = paper.facts(findings)
        return paper.words.read_text(encoding="utf-8").format(**facts)
    except KeyError as missing:
        return UNFINISHED.format(what=missing.args[0])


def _problems(paper: Paper, findings: Findings) -> Table:
    """What was trained on."""
    known = paper.problems()
    lines = []
    for name, rows in findings.sizes().items():
        done = [r for r in answers(findings.records) if r["problem"] == name]
        if done:
            problem, r = known[name], done[0]
            facts = [f"{rows:,}", f"{r['features']:,}", f"{r['test_rows']:,}"]
            lines.append([name, *facts, problem.parameters(), problem.source, problem.origin])
    head = ["problem", "rows", "columns", "test rows", "parameters", "what it is", "why these"]
    return Table("problems", head, lines)


def _missing(paper: Paper, findings: Findings) -> str:
    """Data that are not there."""
    lines = []
    for name in findings.sizes():
        why = paper.problems()[name].missing()
        if why and not any(r["problem"] == name for r in answers(findings.records)):
            lines.append(f"- `{name}` was not run: {why}.")
    return "\n".join(lines)


def _noise(records: Iterable[Record]) -> str:
    """Whether the machine was quiet."""
    known = [r for r in answers(records) if r.get("others") is not None]
    if not known:
        return ""
    return (
        f"During {sum(map(disturbed, known))} of {len(known)} fits of half a second or more, other "
        f"processes kept more than {NOISY:g} processors busy (`others` in results.csv)."
    )
