"""The outcomes of measurements: one JSON file for each."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeAlias

# Its "status" is "answer" (a solution, however bad), "timeout" (none within the limit), "failed"
# (an error) or "absent" (not installed, or not made for this).
Record: TypeAlias = dict[str, Any]

NOISY = 0.25  # processors that other processes may use before a measurement counts as disturbed


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
        """Write the record atomically, so that an interruption leaves no incomplete one."""
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self._path(name)
        draft = path.with_suffix(".part")
        draft.write_text(json.dumps(record, indent=1))
        os.replace(draft, path)

    def all(self) -> list[Record]:
        return [json.loads(path.read_text()) for path in sorted(self.folder.glob("*.json"))]


def disturbed(record: Record) -> bool:
    """Return whether other processes kept the machine busy during a measurement."""
    return (record.get("others") or 0.0) > NOISY


def answers(records: Iterable[Record]) -> list[Record]:
    """Return the records that have a solution."""
    return [r for r in records if r["status"] == "answer"]
