"""What regressions and one-class machines share: one problem over all rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from widestreet._src.arrays import Floats
from widestreet._src.estimators.online.machine import OnlineMachine


def single_left_out(machine: OnlineMachine, intercept: Any) -> Floats:
    """Values of the rows by the models without them; nothing is known of a lonely row."""
    values = np.full(machine._store.n, np.nan)
    for exact in machine._problems.values():
        now = exact.score + intercept(exact.bias)
        values[exact.members] = now
        for row, found in exact.each_without():
            values[row] = np.nan if found is None else found[0] + intercept(found[1])
    return values


def publish_single(machine: OnlineMachine, read: Any) -> None:
    """Make the one solution the model."""
    store = machine._store
    groups = machine._make(None)(np.zeros(1), np.ones(1)).groups
    coef, found = np.zeros((1, store.n)), read(np.zeros(groups))
    for exact in machine._problems.values():
        coef[0, exact.members] = exact.coef
        found = read(exact.bias)
    support = np.flatnonzero(coef[0])
    support = support[np.argsort(store.ids[support], kind="stable")]
    machine._adopt_rows(
        coef,
        support,
        found.pop("intercept_"),
        n_support_=np.array([len(support)], dtype=np.int32),
        **found,
    )
