"""`widestreet race`: runs a plan, shows how far it is, writes the report."""

from __future__ import annotations

import argparse
import json
import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from . import machine, report, small
from .discovery import invited, solvers, tasks
from .files import DOWNLOAD
from .plan import Plan, full, quick
from .records import Job, Record, Store
from .runner import Runner, execute
from .tables import digits, listing, outcome

PAGE, MACHINE = "report.md", "machine.json"


def main(options: argparse.Namespace) -> int:
    """Run the command; see `widestreet.cli.race` for its options."""
    console = Console(highlight=False)
    if options.download:
        os.environ[DOWNLOAD] = "1"
    if options.list:
        console.print(listing(), markup=False, soft_wrap=True)
        return 0
    plan = narrowed(quick() if options.quick else full(), options)
    names = options.solver or invited()
    out = options.out or Path("widestreet-race-quick" if options.quick else "widestreet-race")
    threads = machine.threads() if options.threads is None else options.threads
    if threads < 1:
        raise ValueError(f"--threads must be at least 1, got {threads}")
    if options.no_run and not (out / MACHINE).exists():
        raise ValueError(f"there is nothing to report on in {str(out)!r}")
    store = Store(out)
    if not options.no_run:
        out.mkdir(parents=True, exist_ok=True)
        described = {"race": plan.name} | machine.describe(threads)
        (out / MACHINE).write_text(json.dumps(described, indent=1))
        try:
            run(plan, names, store, threads, options, console)
        except KeyboardInterrupt:
            console.print("Interrupted; the same command goes on from here.")
            finish(store, out, options, console)
            raise
    finish(store, out, options, console)
    return 0


def narrowed(plan: Plan, options: argparse.Namespace) -> Plan:
    """A plan with only what was asked for and what can be loaded."""
    planned = {leg.data for leg in plan.legs}
    for chosen, known in ((options.data, planned), (options.solver, solvers())):
        unknown = [name for name in chosen or [] if name not in known]
        if unknown:
            names = ", ".join(known)
            raise ValueError(f"the {plan.name} race has no {', '.join(unknown)}; it has {names}")
    legs = [leg for leg in plan.legs if not options.data or leg.data in options.data]
    if options.limit:
        legs = [replace(leg, limit=min(leg.limit, options.limit)) for leg in legs]
        legs = [replace(leg, curve_limit=min(leg.curve_limit, options.limit)) for leg in legs]
    return replace(plan, legs=tuple(legs), small=() if options.data else plan.small)


def run(
    plan: Plan,
    names: list[str],
    store: Store,
    threads: int,
    options: argparse.Namespace,
    console: Console,
) -> None:
    """Run what can be run, and say what cannot."""
    for data in dict.fromkeys(leg.data for leg in plan.legs):
        why = tasks()[data].missing()
        if why:
            console.print(f"{data} is left out: {why}", markup=False, soft_wrap=True)
    for name in names:
        why = solvers()[name].absent()
        if why:
            console.print(f"{name} is left out: {why}", markup=False, soft_wrap=True)
    present = [name for name in names if solvers()[name].absent() is None]
    legs = [leg for leg in plan.legs if tasks()[leg.data].missing() is None]
    with _progress(console) as progress:
        bar = progress.add_task("", total=len(legs) * len(present))
        watch = _watcher(progress, bar)
        runner = Runner(store, threads, options.fresh, options.disturbed, watch, plan.seconds)
        chosen = present if plan.small is None else [n for n in present if n in plan.small]
        if chosen:
            progress.update(bar, description="small data")
            measure_small(store, chosen, threads, options.fresh, plan.imports)
        for leg in legs:
            for name in present:
                runner.solve(leg, name)
                progress.advance(bar)
    if runner.left_out:
        console.print(f"Time is up: {runner.left_out} measurements were left out.")


def measure_small(store: Store, names: list[str], threads: int, fresh: bool, imports: int) -> None:
    """Small data and imports."""
    for name in names:
        old = store.get(f"small-{name}-{threads}")
        if fresh or old is None or old["status"] != "answer":
            asked = {"solver": name, "threads": threads}
            record = {"measures": "small", **asked} | execute("small", asked, threads, 600.0)
            store.put(f"small-{name}-{threads}", record)
    if fresh or store.get("imports") is None:
        store.put("imports", {"measures": "imports"} | small.imports(threads, imports))


def finish(store: Store, out: Path, options: argparse.Namespace, console: Console) -> None:
    """Write the report, and the page if one was asked for; print the comparison."""
    page: Path | None = options.report
    described = json.loads((out / MACHINE).read_text())
    if options.note:
        described["note"] = options.note
    records = [r for r in store.all() if str(r.get("threads", "")) in ("", described["threads"])]
    report.write(records, described, out / PAGE, out)
    report.write_json(records, described, out / "results.json")
    console.print("\n" + report.ratios(report.in_order(records)), markup=False, soft_wrap=True)
    console.print(f"\nThe report is {out / PAGE}.", markup=False, soft_wrap=True)
    if not list(out.glob("*.png")):
        console.print('For plots: pip install "widestreet[race]"', markup=False)
    if page is not None:
        report.write(records, described, page, page.with_suffix(""))
        console.print(f"The page is {page}.", markup=False, soft_wrap=True)


def _progress(console: Console) -> Progress:
    return Progress(
        BarColumn(bar_width=20),
        TimeElapsedColumn(),
        TextColumn("{task.description}"),
        console=console,
    )


def _watcher(progress: Progress, bar: Any) -> Any:
    """Show what is being run, and a line for what has been."""
    begun = time.perf_counter()

    def watch(job: Job, record: Record | None) -> None:
        what = f"{job.data} {job.rows:,} {job.solver} tol {job.tol:g}"
        if record is None:
            progress.update(bar, description=what)
            return
        said = outcome(record)
        if record["status"] == "answer":
            said = f"{digits(record['seconds'])} s, violation {record['violation']:.1e}"
        clock = time.strftime("%H:%M:%S", time.gmtime(time.perf_counter() - begun))
        progress.console.print(f"{clock} {what}: {said}", markup=False, soft_wrap=True)

    return watch
