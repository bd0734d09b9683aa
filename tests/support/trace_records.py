"""A trace record to show and to log."""

from __future__ import annotations

from typing import Any

from widestreet._src.engines.solution import TraceRecord


def record(**changes: Any) -> TraceRecord:
    """Round nine of some fit, with what is to be different."""
    fields: dict[str, Any] = {
        "round": 9,
        "working_set": 4096,
        "n_sv": 2697,
        "n_free": 131,
        "violation": 0.021,
        "dual_objective": 1234.5,
        "gap": 0.34,
        "rows_scanned": 1_000_000,
        "rows_skipped": 912_345,
        "kernel_values": 10**9,
        "pair_steps": 54_321,
        "seconds": 12.4,
        "timings": {"solve": 1.5, "survey": 0.5},
    }
    return TraceRecord(**fields | changes)
