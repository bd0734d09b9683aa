"""Checks of single parameters; every error names the parameter and its valid values."""

from __future__ import annotations

import reprlib
from math import isfinite
from numbers import Integral, Real
from typing import Any

import numpy as np

_SHOWN = reprlib.Repr()
_SHOWN.maxstring = _SHOWN.maxlong = 80  # characters
_SHOWN.maxother = 200


def shown(value: Any) -> str:
    """Return the representation of a value for a message, shortened."""
    return _SHOWN.repr(value)


def require_real(
    name: str,
    value: Any,
    *,
    above: float | None = None,
    least: float | None = None,
    most: float | None = None,
    below: float | None = None,
) -> float:
    """Return a finite number within bounds, or raise ValueError."""
    ok = isinstance(value, Real) and not isinstance(value, bool | np.bool_) and _finite(value)
    if ok and above is not None:
        ok = value > above
    if ok and least is not None:
        ok = value >= least
    if ok and most is not None:
        ok = value <= most
    if ok and below is not None:
        ok = value < below
    if not ok:
        bound = f" greater than {above:g}" if above is not None else ""
        bound += f" of at least {least:g}" if least is not None else ""
        bound += f" and at most {most:g}" if most is not None else ""
        bound += f" and less than {below:g}" if below is not None else ""
        raise ValueError(f"{name} must be a finite number{bound}, got {shown(value)}")
    return float(value)


def _finite(value: Any) -> bool:
    """Return whether a number is finite as a float64."""
    try:
        return isfinite(value)
    except OverflowError:
        return False


def require_integer(
    name: str, value: Any, *, least: int, most: int | None = None, none: str = ""
) -> int:
    """Return an integer within bounds; `none` names another valid value in the message."""
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not whole or value < least or (most is not None and value > most):
        bound = f" and at most {most}" if most is not None else ""
        bound += f", or {none}" if none else ""
        raise ValueError(
            f"{name} must be an integer of at least {least}{bound}, got {shown(value)}"
        )
    return int(value)


def require_limit(name: str, value: Any) -> int:
    """Return a number of steps of at least one, or -1 for no limit."""
    if isinstance(value, Integral) and value == -1:
        return -1
    return min(require_integer(name, value, least=1, none="-1 (no limit)"), 2**62)


def require_flag(name: str, value: Any) -> bool:
    """Return a boolean, or raise ValueError."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False, got {shown(value)}")
    return bool(value)


def require_level(name: str, value: Any) -> int:
    """Return a boolean or an integer of at least zero as an integer."""
    if isinstance(value, bool | np.bool_):
        return int(value)
    return require_integer(name, value, least=0)


def require_choice(name: str, value: Any, choices: tuple[str, ...]) -> str:
    """Return one of the given strings, or raise ValueError."""
    if not isinstance(value, str) or value not in choices:
        raise ValueError(
            f"{name} must be one of {', '.join(map(repr, choices))}, got {shown(value)}"
        )
    return str(value)
