"""What Ctrl-C must not tear apart."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def undisturbed(*, swallow: bool = False) -> Iterator[None]:
    """Let Ctrl-C wait until the block is over; the block must be short.

    Parameters
    ----------
    swallow : bool, default=False
        Whether a Ctrl-C within the block is to be ignored.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # no other thread hears it
        return
    heard: list[Any] = []
    handler = signal.getsignal(signal.SIGINT)
    if handler is None:  # it was not installed from Python and cannot be put back
        yield
        return
    signal.signal(signal.SIGINT, lambda *event: heard.append(event))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if heard and callable(handler) and not swallow:
            handler(*heard[0])
