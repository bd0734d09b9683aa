"""Find solvers and tasks: a file added to solvers/ or data/ takes part."""

from __future__ import annotations

import importlib
from functools import cache
from pathlib import Path
from typing import Any

from widestreet._experiments.harness.solver import Solver
from widestreet._experiments.harness.task import Task

ROOT = Path(__file__).parents[1]


def _found(folder: str, name: str) -> list[Any]:
    """Return what the files of a folder list under a name."""
    found = []
    for path in sorted((ROOT / folder).glob("[!_]*.py")):
        module = importlib.import_module(f"widestreet._experiments.{folder}.{path.stem}")
        found += getattr(module, name)
    return found


def _named(found: list[Any]) -> dict[str, Any]:
    names = {one.name: one for one in found}
    if len(names) != len(found):
        raise ValueError("two of them have the same name")
    return names


@cache
def tasks() -> dict[str, Task]:
    """Return all tasks by name: the lists TASKS of the files in data/."""
    return _named(_found("data", "TASKS"))


@cache
def solvers() -> dict[str, Solver]:
    """Return all solvers by name, ours first: the lists SOLVERS of the files in solvers/."""
    return _named(sorted(_found("solvers", "SOLVERS"), key=lambda solver: solver.rank))


def invited() -> list[str]:
    """Return the names of the solvers that take part unless others are named."""
    return [name for name, solver in solvers().items() if solver.invited]
