"""Atomic changes of an online estimator."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np

from widestreet._src.arrays import Ints
from widestreet._src.engines.homotopy.parametric_optimum import InfeasibleError
from widestreet._src.estimators.online.persistence import Log
from widestreet._src.estimators.online.row_store import RowStore
from widestreet._src.estimators.online.state import OnlineState
from widestreet._src.interrupts import undisturbed
from widestreet._src.threads import limited_blas

_MOST_ROWS_EXAMINED = 500  # whose kernel values are examined after a failure
_ROUNDING = 1e-14  # of the largest kernel value, per row: rounding of kernel values and eigenvalues


class Machine(Protocol):
    """Attributes and methods of an online estimator that a change uses."""

    _log: Log | None

    def _published(self, state: OnlineState) -> dict[str, Any]:
        """Return the attributes of the estimator with the model of a state."""
        ...

    def _warn(self, state: OnlineState) -> None:
        """Warn if the optimum is not the one that the parameters ask for."""
        ...


@contextmanager
def indefinite_kernels_named(store: RowStore) -> Iterator[None]:
    """Let errors of the engines name a kernel that is not positive semidefinite as their cause."""
    try:
        yield
    except (InfeasibleError, RuntimeError) as error:
        if store.kernel.positive:
            raise
        if not isinstance(error, InfeasibleError) and _is_semidefinite(store):
            raise
        raise ValueError(
            "kernel must be symmetric and positive semidefinite, but the values of this function "
            "are not, so that the optimum cannot be followed: correct the function, or use 'rbf', "
            "'linear', 'poly' or 'laplacian'"
        ) from error


def _is_semidefinite(store: RowStore) -> bool:
    """Return whether the kernel values of the last rows are those of a valid kernel."""
    rows = np.arange(max(0, store.n - _MOST_ROWS_EXAMINED), store.n)
    K = store.block(rows, rows)
    rounding = _ROUNDING * len(rows) * np.abs(K).max()
    return bool(np.abs(K - K.T).max() <= rounding and np.linalg.eigvalsh(K)[0] >= -rounding)


@contextmanager
def changing(
    machine: Machine, state: OnlineState, journal: Any, kind: str, given: dict[str, Any]
) -> Iterator[list[Ints]]:
    """Change a state within a block, completely or, if an error occurs, not at all.

    After the block, the rows that it appended to the list are removed, the model is prepared and
    the change is written to the journal. The journal record makes the change final; everything
    that may fail comes before it.

    Parameters
    ----------
    machine : Machine
    state : OnlineState
    journal : object
        Path of the journal; None if the change is not recorded.
    kind : str
        Kind of the change in the journal.
    given : dict
        Arrays that are recorded.
    """
    kept, gone, final = state.kept(), list[Ints](), False
    try:
        with limited_blas(1), indefinite_kernels_named(state.store):
            yield gone
        for rows in gone:
            kept.rows.keep(state.store, rows)
            state.drop(rows)
        published = machine._published(state)
        machine._warn(state)
        with undisturbed():
            if journal is not None:
                assert machine._log is not None
                machine._log.write(kind, machine, given, kept.rows.arrived)
            machine.__dict__ = published  # one assignment: an interrupt cannot split it
            final = True
    except BaseException:
        if final:  # an interrupt that was delayed
            raise
        with undisturbed():
            state.restore(kept)
        raise
