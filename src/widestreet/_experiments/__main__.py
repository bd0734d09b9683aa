"""Run chosen solvers on chosen data, or a study of this library's own."""

from __future__ import annotations

import argparse
import sys
import tempfile
import warnings
from pathlib import Path

from rich.console import Console

from widestreet._experiments.harness import measure
from widestreet._experiments.harness.command import Lines
from widestreet._experiments.harness.discovery import invited, solvers, tasks
from widestreet._experiments.harness.machine import describe
from widestreet._experiments.harness.marks import placed
from widestreet._experiments.harness.measurement import Experiment
from widestreet._experiments.harness.records import Store
from widestreet._experiments.harness.runner import Runner
from widestreet._experiments.papers.catalogue import PAPERS
from widestreet._experiments.race import luck, small
from widestreet._experiments.race.plan import Leg
from widestreet._experiments.race.schedule import RACE, Schedule
from widestreet._experiments.race.tables import every_run, listing
from widestreet._experiments.studies import (
    calibration,
    cluster,
    ensemble,
    gpu,
    grid,
    hard,
    linear,
    models,
    online,
    ratios,
    scan,
    search,
    strategies,
    threads,
    tuned,
)

EXPERIMENTS: dict[str, Experiment] = {
    one.name: one for one in (RACE, small.EXPERIMENT, luck.EXPERIMENT)
} | PAPERS
STUDIES = {
    "scan": scan,
    "grid": grid,
    "search": search,
    "hard": hard,
    "linear": linear,
    "online": online,
    "ensemble": ensemble,
    "models": models,
    "gpu": gpu,
    "calibration": calibration,
    "ratios": ratios,
    "threads": threads,
    "tuned": tuned,
}


def configure_run(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--data", action="append", required=True, metavar="NAME")
    add("--solver", action="append", metavar="NAME", help="default: those of the race")
    add("--tol", action="append", type=float, metavar="TOL", help="default: 1e-3")
    add("--rows", action="append", type=float, metavar="N", help="default: all")
    add("--limit", type=float, default=3600.0, metavar="SECONDS")
    add("--threads", type=int, default=2, metavar="N")
    add("--out", type=Path, metavar="DIR", help="keep the records there")


def run(options: argparse.Namespace) -> None:
    """Run chosen solvers on chosen data and print one table."""
    chosen = options.solver or [n for n in invited() if solvers()[n].absent() is None]
    unknown = {*chosen} - {*solvers()} | {*options.data} - {*tasks()}
    if unknown:
        raise SystemExit(f"unknown: {', '.join(sorted(unknown))}; see the command list")
    tols = tuple(options.tol or [1e-3])
    legs = [
        Leg(name, int(rows), tols, options.limit, insist=False)
        for name in options.data
        for rows in options.rows or [0]
    ]
    with tempfile.TemporaryDirectory() as folder:
        store, watch = Store(options.out or Path(folder)), Lines(Console(stderr=True))
        runner = Runner(RACE, store, fresh=True, watch=watch)
        print(every_run(Schedule(runner, options.threads).run(legs, chosen)))


def study(options: argparse.Namespace) -> None:
    """Print the tables of a study, or one of them, and put them into a page."""
    warnings.simplefilter("ignore")
    for name, part in STUDIES[options.command].PARTS.items():
        if options.only in (None, name):
            table = part(options.threads)
            print(f"### {name}\n\n{table}\n", flush=True)
            if options.page:
                where = describe(options.threads)
                words = f"`python -m widestreet._experiments {options.command} --only {name}`"
                made = (
                    f"Made by {words} on {where['date']}: {where['processor']}, {options.threads}"
                )
                page = options.page.read_text(encoding="utf-8")
                page = placed(page, name, f"{made} threads.\n\n{table}")
                options.page.write_text(page, encoding="utf-8")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m widestreet._experiments", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    configure_run(commands.add_parser("run", help="chosen solvers on chosen data"))
    commands.add_parser("list", help="list solvers and data")
    strategies.configure(commands.add_parser("strategies", help=strategies.__doc__))
    cluster.configure(commands.add_parser("cluster", help=cluster.__doc__.partition("\n")[0]))
    for name, module in STUDIES.items():
        command = commands.add_parser(name, help=module.__doc__)
        command.add_argument("--threads", type=int, default=2, metavar="N")
        command.add_argument("--only", choices=sorted(module.PARTS), help="one part")
        command.add_argument("--page", type=Path, metavar="FILE", help="put tables between marks")
    commands.add_parser("measure", help="what a runner starts").add_argument("experiment")
    options = parser.parse_args(arguments)
    match options.command:
        case "measure":
            measure.main(EXPERIMENTS[options.experiment], sys.stdin.read())
        case "run":
            run(options)
        case "strategies":
            strategies.main(options)
        case "cluster":
            cluster.main(options)
        case "list":
            print(listing())
        case _:
            study(options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
