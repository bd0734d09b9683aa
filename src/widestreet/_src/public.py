"""Module names of public classes and functions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import FunctionType
from typing import Any


def set_home(home: str, names: Iterable[str], namespace: Mapping[str, Any]) -> None:
    """Set the module name of classes and functions to that of their public module.

    Sets: `__module__` of each, which tracebacks, `help` and pickles show.

    Parameters
    ----------
    home : str
        Name of the public module.
    names : iterable of str
        Its public names.
    namespace : mapping
        Result of `globals()` in the module that imports them.
    """
    for name in names:
        if isinstance(namespace[name], type | FunctionType):
            namespace[name].__module__ = home
