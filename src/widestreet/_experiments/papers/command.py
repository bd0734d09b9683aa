"""`widestreet reproduce`: run a paper's plan and write its page."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from widestreet._experiments.harness.command import Lines, Session
from widestreet._experiments.harness.records import Record
from widestreet._experiments.harness.runner import Runner, Stream, process
from widestreet._experiments.harness.tables import markdown
from widestreet._experiments.papers.catalogue import PAPERS
from widestreet._experiments.papers.page import QUICK_SECONDS, publish
from widestreet._experiments.papers.paper import Findings, Paper


def main(options: argparse.Namespace, stream: Stream = process) -> int:
    """Run the command; see `widestreet.cli.reproduce` for its options."""
    if options.list:
        papers = [chosen(options.paper)] if options.paper else list(PAPERS.values())
        session = Session(options, "widestreet-reproduction")
        for paper in papers:
            session.say(listing(paper, options.quick))
        return 0
    paper, quick = chosen(options.paper), options.quick
    session = Session(options, f"widestreet-reproduction-{paper.name}")
    plan = [replace(one, threads=session.threads) for one in paper.plan(quick)]

    def run() -> int:
        names = dict.fromkeys(one.problem for one in plan)
        there = session.leave_out({name: paper.problems()[name].missing() for name in names})
        runner = Runner(
            paper,
            session.store,
            options.fresh,
            watch=Lines(session.console),
            seconds=QUICK_SECONDS if quick else None,
            stream=stream,
        )
        runner.run([one for one in plan if one.problem in there])
        return runner.left_out

    def write(page: Path, beside: Path) -> list[Record]:
        stored = [session.store.get(one.name) for one in plan]
        findings = Findings(plan, [record for record in stored if record is not None], quick)
        publish(paper, findings, session.machine, page, beside)
        return findings.records

    return session.run(run, write)


def chosen(name: str | None) -> Paper:
    """Return the paper of that name."""
    if name not in PAPERS:
        asked = "which paper?" if name is None else f"no paper is called {name!r}:"
        raise ValueError(f"{asked} there are {', '.join(PAPERS)}")
    return PAPERS[name]


def listing(paper: Paper, quick: bool) -> str:
    """Return what would be run, and what is missing for it."""
    problems, lines = paper.problems(), []
    plan = paper.plan(quick)
    for key in dict.fromkeys((one.problem, one.rows) for one in plan):
        same = [one for one in plan if (one.problem, one.rows) == key]
        titles = [one.method.title for one in same]
        counted = [f"{title} x {titles.count(title)}" for title in dict.fromkeys(titles)]
        missing = problems[key[0]].missing() or ""
        lines.append([key[0], f"{key[1]:,}", ", ".join(counted), missing])
    return f"{paper.name}: {paper.title}\n\n" + markdown(["problem", "rows", "fits", ""], lines)
