"""Protection of short blocks from Ctrl-C."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def undisturbed(*, swallow: bool = False) -> Iterator[None]:
    """Delay Ctrl-C until the end of the block, which must be short.

    Parameters
    ----------
    swallow : bool, default=False
        If True, a Ctrl-C within the block is ignored.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # other threads do not receive the signal
        return
    received: list[Any] = []
    handler = signal.getsignal(signal.SIGINT)
    if handler is None:  # it was not installed from Python and cannot be restored
        yield
        return
    signal.signal(signal.SIGINT, lambda *event: received.append(event))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if received and callable(handler) and not swallow:
            handler(*received[0])


@contextmanager
def noticed(notice: Callable[[], None]) -> Iterator[None]:
    """Call a function at every Ctrl-C within the block, before anything else happens."""
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield
        return

    def both(*event: Any) -> None:
        notice()
        handler(*event)

    signal.signal(signal.SIGINT, both)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
