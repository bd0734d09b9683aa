"""Read the environment variables. Importing this module applies WIDESTREET_ISA.

No other module reads the environment:

WIDESTREET_ISA
    the instruction set to use (avx512, avx2 or portable) in place of the best one
WIDESTREET_NUM_THREADS, OMP_NUM_THREADS
    the largest number of threads; the first one that is set counts
"""

from __future__ import annotations

import os

from widestreet import _core


def thread_limit() -> int | None:
    """Return the largest number of threads allowed, or None where there is no limit."""
    for name in ("WIDESTREET_NUM_THREADS", "OMP_NUM_THREADS"):
        limit = os.environ.get(name, "").split(",")[0].strip()
        if limit.isdigit() and int(limit) > 0:
            return int(limit)
    return None


def _choose_instruction_set() -> None:
    """Use the instruction set that WIDESTREET_ISA names.

    An unavailable one is a ValueError. An ImportError would be taken for a missing package where
    widestreet is optional.
    """
    name, available = os.environ.get("WIDESTREET_ISA"), _core.instruction_sets()
    if not name:
        return
    if name not in available:
        raise ValueError(
            f"WIDESTREET_ISA must be an instruction set that is available here "
            f"({', '.join(available)}) or unset, got {name!r}"
        )
    _core.force_instruction_set(name)


_choose_instruction_set()
