"""Solvers and tasks are what the files of two folders define: add a file, and it takes part."""

from __future__ import annotations

import importlib
from functools import cache
from pathlib import Path
from typing import Any

from .solver import Solver
from .task import Task


def _modules(folder: str) -> list[Any]:
    paths = sorted((Path(__file__).parent / folder).glob("[!_]*.py"))
    return [importlib.import_module(f".{folder}.{path.stem}", __package__) for path in paths]


def _named(found: list[Any]) -> dict[str, Any]:
    names = {one.name: one for one in found}
    if len(names) != len(found):
        raise ValueError("two of them have the same name")
    return names


@cache
def tasks() -> dict[str, Task]:
    """All tasks by name: the lists TASKS of the files in data/."""
    return _named([task for module in _modules("data") for task in module.TASKS])


@cache
def solvers() -> dict[str, Solver]:
    """All solvers by name, ours first: the lists SOLVERS of the files in solvers/."""
    found = [solver for module in _modules("solvers") for solver in module.SOLVERS]
    return _named(sorted(found, key=lambda solver: solver.rank))


def invited() -> list[str]:
    """Names of the solvers that take part unless others are named."""
    return [name for name, solver in solvers().items() if solver.invited]
