"""Module names of public classes and functions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import FunctionType
from typing import Any


def set_home(names: Iterable[str], namespace: Mapping[str, Any]) -> None:
    """Set the module name of classes and functions to that of their public module.

    Sets: `__module__` of each, which tracebacks, `help` and pickles show.

    Parameters
    ----------
    names : iterable of str
        Public names of the module.
    namespace : mapping
        Result of `globals()` in that module.
    """
    for name in names:
        if isinstance(namespace[name], type | FunctionType):
            namespace[name].__module__ = namespace["__name__"]
