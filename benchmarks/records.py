"""What is measured, and where the outcome lies: one JSON file per measurement."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeAlias

Record: TypeAlias = dict[str, Any]

# what `status` of a record can be: an answer, however bad; none within the limit; an error; not
# installed or not made for this
STATUSES = ("answer", "timeout", "failed", "absent")

NOISY = 0.25  # processors that others may use before a run is called disturbed


@dataclass(frozen=True)
class Job:
    """One measurement: a solver on a task at a tolerance.

    Attributes
    ----------
    limit : float
        Seconds that a fit may take before its process is killed.
    repeat_for : float
        A short fit is repeated until so many seconds have passed, at most `repeats` times.
    rest : float
        Seconds for all but the first fit.
    """

    data: str
    rows: int
    solver: str
    tol: float
    threads: int
    limit: float
    repeats: int = 3
    repeat_for: float = 20.0
    rest: float = 3600.0

    @property
    def name(self) -> str:
        return f"{self.data}-{self.rows}-{self.solver}-{self.tol:g}-{self.threads}"

    @property
    def facts(self) -> Record:
        return asdict(self)


class Store:
    """A folder of records."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "records"

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}.json"

    def get(self, name: str) -> Record | None:
        path = self._path(name)
        return json.loads(path.read_text()) if path.exists() else None

    def put(self, name: str, record: Record) -> None:
        """Write all of it or nothing, so that an interrupted race leaves no half records."""
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self._path(name)
        draft = path.with_suffix(".part")
        draft.write_text(json.dumps(record, indent=1))
        os.replace(draft, path)

    def all(self) -> list[Record]:
        return [json.loads(path.read_text()) for path in sorted(self.folder.glob("*.json"))]


def settled(record: Record | None, limit: float) -> bool:
    """Whether a measurement need not be done again: it has an answer, or had its time."""
    if record is None:
        return False
    late = record["status"] == "timeout" and record["limit"] >= 0.99 * limit
    return bool(late or record["status"] == "answer")


def disturbed(record: Record) -> bool:
    """Whether other processes kept the machine busy during a run."""
    return (record.get("others") or 0.0) > NOISY


def answers(records: Iterable[Record]) -> list[Record]:
    """Those that ended with a solution."""
    return [r for r in records if r["status"] == "answer"]
