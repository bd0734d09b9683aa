"""Cases for the runner of tests/fuzz: one ends its process, one never ends."""

from __future__ import annotations

import os
import signal
import time


def run(seed: int, index: int) -> tuple[str, str | None]:
    if index == 3:
        os.kill(os.getpid(), signal.SIGSEGV)
    if index == 4:
        time.sleep(1000)
    return "fine", None
