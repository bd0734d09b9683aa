"""Run benchmarks from a checkout: see the package's docstring."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from widestreet.cli.race import configure as configure_race

from . import __doc__ as summary
from . import ensemble, grid, online, parts, race, scan, strategies
from .discovery import invited, solvers, tasks
from .plan import Leg
from .records import Job, Record, Store
from .runner import Runner
from .tables import brief, listing

IN_PARTS = {"online": online, "ensemble": ensemble}


def configure_run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", action="append", required=True, metavar="NAME")
    parser.add_argument(
        "--solver", action="append", metavar="NAME", help="default: those of the race"
    )
    parser.add_argument("--tol", action="append", type=float, metavar="TOL", help="default: 1e-3")
    parser.add_argument("--rows", action="append", type=float, metavar="N", help="default: all")
    parser.add_argument("--limit", type=float, default=3600.0, metavar="SECONDS")
    parser.add_argument("--threads", type=int, default=2, metavar="N")
    parser.add_argument("--out", type=Path, metavar="DIR", help="keep the records there")


def run(options: argparse.Namespace) -> int:
    """Chosen solvers on chosen data, anew."""
    chosen = options.solver or [n for n in invited() if solvers()[n].absent() is None]
    unknown = [n for n in chosen if n not in solvers()] + [
        n for n in options.data if n not in tasks()
    ]
    if unknown:
        raise SystemExit(f"unknown: {', '.join(unknown)}; python -m benchmarks list")
    tols = tuple(options.tol or [1e-3])
    with tempfile.TemporaryDirectory() as folder:
        store = Store(options.out or Path(folder))
        runner = Runner(store, options.threads, fresh=True, watch=tell)
        for name in options.data:
            for rows in options.rows or [0]:
                leg = Leg(name, int(rows), tols, options.limit, insist=False)
                runner.run([leg], chosen)
    print(brief(runner.records))
    return 0


def tell(job: Job, record: Record | None) -> None:
    if record is None:
        sys.stderr.write(f"{job.data} {job.rows:,} {job.solver} tol {job.tol:g} ... ")
    elif record["status"] == "answer":
        sys.stderr.write(f"{record['seconds']:.2f} s, violation {record['violation']:.1e}\n")
    else:
        sys.stderr.write(f"{record['status']} {record.get('reason', '')}\n")
    sys.stderr.flush()


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=summary,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    configure_race(commands.add_parser("race"))
    configure_run(commands.add_parser("run"))
    strategies.configure(commands.add_parser("strategies"))
    for name, module in IN_PARTS.items():
        parts.configure(commands.add_parser(name), module.PARTS)
    for name in ("list", "scan", "grid"):
        commands.add_parser(name)
    options = parser.parse_args()
    if options.command == "race":
        return race.main(options)
    if options.command == "run":
        return run(options)
    if options.command in IN_PARTS:
        return parts.show(options, IN_PARTS[options.command].PARTS)
    if options.command == "strategies":
        return strategies.main(options, tell)
    if options.command == "list":
        print(listing())
    else:
        module = {"scan": scan, "grid": grid}[options.command]
        print(module.table(module.run()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
