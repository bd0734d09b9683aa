"""Calls that end after a limit: in a process of its own, which is killed."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

_READY = "ready"


def limited(seconds: float, function: Callable[..., Any], *arguments: Any) -> Any:
    """Return the result of a function, or None if it takes longer.

    The start of the process does not count. The function must be one that can be imported; its
    result must be one that can be pickled.
    """
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    child = context.Process(target=_answer, args=(there, function, arguments), daemon=True)
    child.start()
    there.close()
    try:
        here.recv()
        return here.recv() if here.poll(seconds) else None
    except EOFError:
        raise RuntimeError(f"the process of {function.__name__} died") from None
    finally:
        child.kill()
        child.join()


def _answer(there: Connection, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    there.send(_READY)
    there.send(function(*arguments))
