"""Environment variables. Importing this module applies WIDESTREET_ISA.

The package imports this module first. No other module reads the environment:

WIDESTREET_ISA
    instruction set to use (avx512, avx512bw, avx2 or portable) instead of the fastest one
WIDESTREET_NUM_THREADS, OMP_NUM_THREADS
    largest number of threads; the first variable that is set counts
WIDESTREET_DATA
    folder of the real data of the experiments
WIDESTREET_DOWNLOAD
    if set, scikit-learn may download data that this folder lacks
"""

from __future__ import annotations

import os

from widestreet import _core

DATA, DOWNLOAD = "WIDESTREET_DATA", "WIDESTREET_DOWNLOAD"
THREADS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "WIDESTREET_NUM_THREADS",
)


def thread_limit() -> int | None:
    """Return the largest number of threads allowed, or None if there is no limit."""
    for name in ("WIDESTREET_NUM_THREADS", "OMP_NUM_THREADS"):
        limit = os.environ.get(name, "").split(",")[0].strip()
        if limit.isdigit() and int(limit) > 0:
            return int(limit)
    return None


def data_folder() -> str | None:
    """Return the folder of the experiments' real data, or None if it is not set."""
    return os.environ.get(DATA) or None


def downloads_allowed() -> bool:
    """Return whether scikit-learn may download missing data."""
    return os.environ.get(DOWNLOAD, "") not in ("", "0")


def allow_downloads() -> None:
    """Allow downloads in this process and its child processes."""
    os.environ[DOWNLOAD] = "1"


def with_threads(threads: int) -> dict[str, str]:
    """Return the environment of a child process whose libraries use `threads` threads."""
    return os.environ | dict.fromkeys(THREADS, str(threads))


def _choose_instruction_set() -> None:
    """Use the instruction set that WIDESTREET_ISA names.

    An unavailable one raises ValueError. Callers for which widestreet is optional would take an
    ImportError for a missing package.
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
