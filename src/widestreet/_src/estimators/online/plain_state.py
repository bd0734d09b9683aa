"""The rows and optima of an online estimator in plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from widestreet._src.engines.insvr.three_stages import StageCounts
from widestreet._src.estimators.online.row_store import RowStore
from widestreet._src.estimators.online.state import OnlineState
from widestreet._src.estimators.plain_state import (
    certificates_from,
    kernel_from,
    plain_certificates,
    plain_kernel,
)
from widestreet._src.threads import resolve_threads


def rows_of(state: OnlineState) -> dict[str, Any]:
    """Return the rows of a state and the variables of its problems in plain values."""
    store = state.store
    variables = state.known or {key: (one.members, one.beta) for key, one in state.optima.items()}
    return {
        "X": store.X,
        "target": store.target,
        "weight": store.weight,
        "ids": store.ids,
        "arrived": store.arrived,
        "kernel_values": store.kernel_values,
        "kernel": plain_kernel(store.kernel),
        "centre": store.centre,
        "seen": dict(state.seen),
        "classes": state.classes,
        "problems": [
            {"key": None if key is None else list(key), "members": members, "beta": beta}
            for key, (members, beta) in variables.items()
        ],
        "certificates": None if state.proof is None else plain_certificates(state.proof),
        "counts": None if state.counts is None else [asdict(one) for one in state.counts],
    }


def state_from(machine: Any, rows: Mapping[str, Any]) -> OnlineState:
    """Return the state of an estimator from `rows_of`; its optima are restored when needed."""
    X, kernel = rows["X"], kernel_from(rows["kernel"])
    store = RowStore(kernel, X, rows["centre"], resolve_threads(machine.n_jobs))
    store.add(X, rows["target"], rows["weight"])
    store.ids[:], store.arrived = rows["ids"], int(rows["arrived"])
    store.kernel_values = int(rows["kernel_values"])
    state = OnlineState(store, dict(rows["seen"]), rows["classes"])
    for one in rows["problems"]:
        key = None if one["key"] is None else tuple(one["key"])
        state.known[key] = one["members"], one["beta"]
    if rows["certificates"] is not None:
        state.proof = certificates_from(rows["certificates"])
    if rows.get("counts") is not None:
        total, last = (StageCounts(**one) for one in rows["counts"])
        state.counts = total, last
    return state
