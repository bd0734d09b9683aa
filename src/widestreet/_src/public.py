"""Public names say where users find them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import FunctionType
from typing import Any


def set_home(names: Iterable[str], namespace: Mapping[str, Any]) -> None:
    """Let classes and functions of a public module say that they live there.

    Sets: `__module__` of each, which tracebacks, `help` and pickles show.

    Parameters
    ----------
    names : iterable of str
        Public names of the module.
    namespace : mapping
        What `globals()` returns there.
    """
    for name in names:
        if isinstance(namespace[name], type | FunctionType):
            namespace[name].__module__ = namespace["__name__"]
