"""`widestreet reproduce`: runs a paper's plan, shows how far it is, writes the report."""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from rich.console import Console

from widestreet.benchmarks import machine
from widestreet.benchmarks.files import DOWNLOAD
from widestreet.benchmarks.records import Record, Store
from widestreet.benchmarks.tables import digits, markdown

from .measurement import Measurement
from .page import QUICK_SECONDS, publish
from .paper import Findings, Paper
from .papers import PAPERS
from .runner import Runner, Stream, process

PAGE, MACHINE = "report.md", "machine.json"


def main(options: argparse.Namespace, stream: Stream = process) -> int:
    """Run the command; see `widestreet.cli.reproduce` for its options."""
    console = Console(highlight=False)
    if options.download:
        os.environ[DOWNLOAD] = "1"
    papers = [chosen(options.paper)] if options.paper else list(PAPERS.values())
    if options.list:
        for paper in papers:
            console.print(listing(paper, options.quick), markup=False, soft_wrap=True)
        return 0
    paper = chosen(options.paper)
    threads = machine.threads() if options.threads is None else options.threads
    if threads < 1:
        raise ValueError(f"--threads must be at least 1, got {threads}")
    ending = "-quick" if options.quick else ""
    out = options.out or Path(f"widestreet-reproduction-{paper.name}{ending}")
    if options.no_run and not (out / MACHINE).exists():
        raise ValueError(f"there is nothing to report on in {str(out)!r}")
    plan = [replace(one, threads=threads) for one in paper.plan(options.quick)]
    store = Store(out)
    try:
        if not options.no_run:
            described = {"run": "quick" if options.quick else "full"} | machine.describe(threads)
            out.mkdir(parents=True, exist_ok=True)
            (out / MACHINE).write_text(json.dumps(described, indent=1))
            run(paper, plan, store, options, console, stream)
    except KeyboardInterrupt:
        console.print("Interrupted; the same command goes on from here.")
        finish(paper, plan, store, out, options, console)
        raise
    finish(paper, plan, store, out, options, console)
    return 0


def chosen(name: str | None) -> Paper:
    """The paper of that name."""
    if name not in PAPERS:
        asked = "which paper?" if name is None else f"no paper is called {name!r}:"
        raise ValueError(f"{asked} there are {', '.join(PAPERS)}")
    return PAPERS[name]


def listing(paper: Paper, quick: bool) -> str:
    """What would be run, and what is missing for it."""
    problems, lines = paper.problems(), []
    plan = paper.plan(quick)
    for key in dict.fromkeys((one.problem, one.rows) for one in plan):
        same = [one for one in plan if (one.problem, one.rows) == key]
        titles = [one.method.title for one in same]
        counted = [f"{title} x {titles.count(title)}" for title in dict.fromkeys(titles)]
        missing = problems[key[0]].missing() or ""
        lines.append([key[0], f"{key[1]:,}", ", ".join(counted), missing])
    return f"{paper.name}: {paper.title}\n\n" + markdown(["problem", "rows", "fits", ""], lines)


def run(
    paper: Paper,
    plan: Sequence[Measurement],
    store: Store,
    options: argparse.Namespace,
    console: Console,
    stream: Stream,
) -> None:
    """Run what can be run, and say what cannot."""
    why = {one.problem: paper.problems()[one.problem].missing() for one in plan}
    for name, reason in why.items():
        if reason:
            console.print(f"{name} is left out: {reason}", markup=False, soft_wrap=True)
    present = [one for one in plan if not why[one.problem]]
    seconds = QUICK_SECONDS if options.quick else None
    runner = Runner(paper, store, options.fresh, Lines(console, len(present)), seconds, stream)
    runner.run(present)
    if runner.left_out:
        console.print(f"Time is up: {runner.left_out} measurements were left out.")


class Lines:
    """Prints a line for each measurement."""

    def __init__(self, console: Console, total: int) -> None:
        self.console, self.total = console, total
        self._begun = time.perf_counter()

    def __call__(self, one: Measurement, record: Record | None) -> None:
        if record is None:
            if self.console.is_terminal:
                self.console.print(f"... {one.title}", markup=False, soft_wrap=True, end="\r")
            return
        clock = time.strftime("%H:%M:%S", time.gmtime(time.perf_counter() - self._begun))
        line = f"{clock} {one.title}: {outcome(record)}"
        self.console.print(line, markup=False, soft_wrap=True)


def outcome(record: Record) -> str:
    """A record in a line."""
    if record["status"] == "timeout":
        return f"not done after {digits(record['limit'])} s"
    if record["status"] != "answer":
        return f"{record['status']}: {record.get('reason', '')}"
    names = {"accuracy": "accuracy", "mse": "mean squared error"}
    scores = [f"{word} {record[key]:.4f}" for key, word in names.items() if key in record]
    status = record.get("certificate") or f"violation {record['violation']:.1e}"
    return ", ".join([f"{digits(record['seconds'])} s", *scores, f"{record['n_sv']:,} SVs", status])


def finish(
    paper: Paper,
    plan: Sequence[Measurement],
    store: Store,
    out: Path,
    options: argparse.Namespace,
    console: Console,
) -> None:
    """Write the report, and the page if one was asked for."""
    described = json.loads((out / MACHINE).read_text())
    stored = [store.get(one.name) for one in plan]
    records = [record for record in stored if record is not None]
    findings = Findings(plan, records, options.quick)
    pages: list[tuple[Path, Path]] = [(out / PAGE, out)]
    if options.report is not None:
        pages.append((options.report, options.report.with_suffix("")))
    for page, beside in pages:
        publish(paper, findings, described, page, beside)
        console.print(f"The report is {page}.", markup=False, soft_wrap=True)
    if find_spec("matplotlib") is None:
        console.print('For figures: pip install "widestreet[plot]"', markup=False)
