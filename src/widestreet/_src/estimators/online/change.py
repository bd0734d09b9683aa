"""Atomic changes of an online estimator."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from widestreet._src.arrays import Ints
from widestreet._src.engines.homotopy.parametric_optimum import InfeasibleError
from widestreet._src.estimators.online.persistence import Log
from widestreet._src.estimators.online.state import OnlineState
from widestreet._src.interrupts import undisturbed
from widestreet._src.threads import limited_blas


class Machine(Protocol):
    """Attributes and methods of an online estimator that a change uses."""

    kernel: Any
    _log: Log | None

    def _published(self, state: OnlineState) -> dict[str, Any]:
        """Return the attributes of the estimator with the model of a state."""
        ...

    def _warn(self, state: OnlineState) -> None:
        """Warn if the optimum is not the one that the parameters ask for."""
        ...


@contextmanager
def indefinite_kernels_named(kernel: Any) -> Iterator[None]:
    """Let errors of the homotopy name a callable kernel as their cause."""
    try:
        yield
    except InfeasibleError as error:
        if not callable(kernel):
            raise
        raise ValueError(
            "kernel must be positive semidefinite, but the values of this function are not: "
            "the homotopy is not defined"
        ) from error


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
        with limited_blas(1), indefinite_kernels_named(machine.kernel):
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
