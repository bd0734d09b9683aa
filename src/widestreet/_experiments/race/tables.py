"""Runs of the race as lines of tables."""

from __future__ import annotations

from collections.abc import Iterable

from widestreet._experiments.harness.discovery import solvers, tasks
from widestreet._experiments.harness.records import Record
from widestreet._experiments.harness.tables import digits, markdown, outcome

CELLS = ["time, s", "peak, MB", "SVs", "violation", "relative gap", "dual objective", "test score"]
CELLS += ["prediction, s"]


def cells(record: Record) -> list[str]:
    """Return a run from its time to its test score."""
    if record["status"] != "answer":
        return [outcome(record), *[""] * (len(CELLS) - 1)]
    return [
        digits(record["seconds"]),
        f"{record['peak_mb']:,.0f}",
        f"{record['n_sv']:,}",
        f"{record['violation']:.1e}",
        f"{record['relative_gap']:.1e}",
        f"{record['dual_objective']:.6f}",
        f"{record['score']:.4f}",
        f"{record['predict_seconds']:.2f}",
    ]


def every_run(records: Iterable[Record]) -> str:
    """Return one line for each run."""
    lines = [
        [r["problem"], f"{r['rows']:,}", r["method"]["name"], f"{r['tol']:g}", *cells(r)]
        for r in records
    ]
    return markdown(["data", "rows", "solver", "tol", *CELLS], lines)


def listing() -> str:
    """Return solvers and tasks, and why some cannot take part."""
    who = [[s.name, s.absent() or s.version()] for s in solvers().values()]
    what = [
        [t.name, f"{t.rows:,}", t.kind, t.parameters(), t.missing() or ""] for t in tasks().values()
    ]
    data = markdown(["data", "rows", "task", "parameters", ""], what)
    return f"{markdown(['solver', 'version'], who)}\n\n{data}"
