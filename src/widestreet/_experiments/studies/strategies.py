"""Every strategy of this library on the same data, at the same tolerance."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from rich.console import Console

from widestreet._experiments.harness.command import Lines
from widestreet._experiments.harness.discovery import solvers, tasks
from widestreet._experiments.harness.machine import describe
from widestreet._experiments.harness.marks import placed
from widestreet._experiments.harness.records import Record, Store
from widestreet._experiments.harness.runner import Runner
from widestreet._experiments.harness.tables import digits, markdown, outcome
from widestreet._experiments.race.plan import Leg
from widestreet._experiments.race.schedule import RACE, Schedule

DATA = (
    "checkerboard",
    "twonorm",
    "covtype-4",
    "kdd99",
    "ijcnn1",
    "a9a",
    "friedman",
    "casp_protein",
)
LIMIT = 90.0  # seconds for a fit


def configure(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--data", action="append", metavar="NAME", help="only this data set; may be repeated")
    add("--limit", type=float, default=LIMIT, metavar="SECONDS", help="for one fit")
    add("--threads", type=int, default=2, metavar="N")
    add("--out", type=Path, metavar="DIR", help="keep the records there, and use those that are")
    add("--page", type=Path, metavar="FILE", help="write the tables there, between the marks")


def ours() -> list[str]:
    """Return the names of all strategies, the default first."""
    return [name for name, solver in solvers().items() if solver.package == "widestreet"]


def main(options: argparse.Namespace) -> None:
    """Measure, print the tables and put them into a page."""
    chosen = options.data or [name for name in DATA if tasks()[name].missing() is None]
    with tempfile.TemporaryDirectory() as folder:
        store = Store(options.out or Path(folder))
        runner = Runner(RACE, store, watch=Lines(Console(stderr=True)))
        legs = [Leg(name, 0, (1e-3,), options.limit, insist=False) for name in chosen]
        records = Schedule(runner, options.threads).run(legs, ours())
    text = report(records, chosen, options.threads)
    print(text)
    if options.page:
        page = placed(options.page.read_text(encoding="utf-8"), "strategies", text)
        options.page.write_text(page, encoding="utf-8")


def report(records: list[Record], names: list[str], threads: int) -> str:
    """Return the tables of times, and of kernel values and rounds."""
    where = describe(threads)
    found = {(r["problem"], r["method"]["name"]): r for r in records}
    kept = [name for name in names if (name, "widestreet") in found]
    head = ["data", "rows", "SVs", *(_strategy(name) for name in ours())]
    times, work = [], []
    for data in kept:
        best = found[data, "widestreet"]
        about = [data, f"{best['rows']:,}", f"{best['n_sv']:,}"]
        runs = [found.get((data, name)) for name in ours()]
        times.append([*about, *(_time(run, best) for run in runs)])
        work.append([*about, *(_work(run) for run in runs)])
    parts = [
        f"Made by `python -m widestreet._experiments strategies` on {where['date']}: "
        f"{where['processor']}, {threads} threads, tol 1e-3, medians of up to three fits, "
        "certificate included.",
        "Seconds, and in brackets the ratio to those of `auto`:",
        markdown(head, times),
        "Kernel values computed, in millions, and in brackets the rounds:",
        markdown(head, work),
    ]
    return "\n\n".join(parts)


def _strategy(solver: str) -> str:
    name = solvers()[solver].title
    return f"`{name.removeprefix('widestreet').strip(' ()') or 'auto'}`"


def _time(run: Record | None, best: Record) -> str:
    if run is None or run["status"] != "answer":
        return "" if run is None else outcome(run)
    status = run["certificate"]
    said = "" if status == "optimal" else f", {status}"
    return f"{digits(run['seconds'])} ({run['seconds'] / best['seconds']:.1f}{said})"


def _work(run: Record | None) -> str:
    if run is None or run["status"] != "answer":
        return ""
    return f"{digits(run['kernel_values'] / 1e6)} ({run['rounds']:,})"
