"""`widestreet race`: run a plan and write the report."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from widestreet._experiments.harness.command import Lines, Session
from widestreet._experiments.harness.discovery import invited, solvers, tasks
from widestreet._experiments.harness.records import Record
from widestreet._experiments.harness.runner import Runner
from widestreet._experiments.race import luck, small
from widestreet._experiments.race import page as pages
from widestreet._experiments.race.comparison import OURS
from widestreet._experiments.race.plan import Plan, full, quick
from widestreet._experiments.race.schedule import RACE, Schedule
from widestreet._experiments.race.tables import listing

IMPORTS = "imports"


def main(options: argparse.Namespace) -> int:
    """Run the command; see `widestreet.cli.race` for its options."""
    plan = narrowed(quick() if options.quick else full(), options)
    session = Session(options, "widestreet-race")
    if options.list:
        session.say(listing())
        return 0

    def publish(page: Path, beside: Path) -> list[Record]:
        machine = session.machine | ({"note": options.note} if options.note else {})
        threads = int(machine["threads"])
        records = [r for r in session.store.all() if r.get("threads") == threads]
        records = pages.in_order(records)
        pages.publish(records, machine, page, beside)
        if page.parent == session.out:
            session.say("\n" + pages.ratios(records))
        return records

    return session.run(lambda: run(plan, options.solver or invited(), session), publish)


def narrowed(plan: Plan, options: argparse.Namespace) -> Plan:
    """Return a plan with only what was asked for."""
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
    seeds = plan.seeds if options.seeds is None else options.seeds
    return replace(plan, legs=tuple(legs), small=() if options.data else plan.small, seeds=seeds)


def run(plan: Plan, names: list[str], session: Session) -> int:
    """Run what can be run; return how many measurements were left out."""
    loaded = session.leave_out({leg.data: tasks()[leg.data].missing() for leg in plan.legs})
    present = session.leave_out({name: solvers()[name].absent() for name in names})
    fresh, watch = session.options.fresh, Lines(session.console)
    chosen = present if plan.small is None else [n for n in present if n in plan.small]
    if chosen:
        runner = Runner(small.EXPERIMENT, session.store, fresh, watch=watch)
        for name in chosen:  # each in a process of its own
            runner.record(small.measurement(name, session.threads))
        if fresh or session.store.get(IMPORTS) is None:
            session.store.put(IMPORTS, small.imports(session.threads, plan.imports))
    runner = Runner(
        RACE, session.store, fresh, session.options.disturbed, watch, seconds=plan.seconds
    )
    legs = [leg for leg in plan.legs if leg.data in loaded]
    Schedule(runner, session.threads).run(legs, present)
    if plan.seeds and OURS in present:
        draws = Runner(luck.EXPERIMENT, session.store, fresh, watch=watch, seconds=plan.seconds)
        first = {leg.data: leg for leg in reversed(legs)}.values()
        for name in session.options.instruction_set or luck.instruction_sets():
            draws.run([luck.measurement(leg, plan.seeds, name, session.threads) for leg in first])
        return runner.left_out + draws.left_out
    return runner.left_out
