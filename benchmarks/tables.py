"""Records as Markdown tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .discovery import solvers, tasks
from .records import Record


def markdown(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """A table."""
    rows = [head, ["---"] * len(head), *lines]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def listing() -> str:
    """Solvers and tasks, and why some cannot take part."""
    who = [[s.name, s.absent() or s.version()] for s in solvers().values()]
    what = [
        [t.name, f"{t.rows:,}", t.kind, t.parameters(), t.missing() or ""] for t in tasks().values()
    ]
    return (
        markdown(["solver", "version"], who)
        + "\n\n"
        + markdown(["data", "rows", "task", "parameters", ""], what)
    )


def cells(record: Record) -> list[str]:
    """What a run came to, from time to test score."""
    if record["status"] != "answer":
        return [outcome(record), *[""] * 7]
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


CELLS = ["time, s", "peak, MB", "SVs", "violation", "relative gap", "dual objective", "test score"]
CELLS += ["prediction, s"]


def digits(value: float) -> str:
    """Three digits."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def outcome(record: Record) -> str:
    """Why there is no answer."""
    if record["status"] == "timeout":
        return f"no answer in {digits(record['limit'])} s"
    return f"{record['status']}: {record.get('reason', '')}".rstrip(": ").replace("|", "/")


def brief(records: Iterable[Record]) -> str:
    """One line for each run."""
    head = ["data", "rows", "solver", "tol", *CELLS]
    lines = [
        [r["data"], f"{r['rows']:,}", r["solver"], f"{r['tol']:g}", *cells(r)] for r in records
    ]
    return markdown(head, lines)
