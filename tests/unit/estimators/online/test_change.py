"""A change of an online machine happens as a whole, or not at all."""

from __future__ import annotations

import numpy as np
import pytest

from support.online_states import N, state
from widestreet._src.engines.homotopy.parametric_optimum import InfeasibleError
from widestreet._src.estimators.online.change import changing, indefinite_kernels_named
from widestreet._src.estimators.online.state import OnlineState
from widestreet._src.kernels.kernels import Callable


class Log:
    def __init__(self, fails: bool = False) -> None:
        self.fails, self.written = fails, []

    def write(self, kind, machine, given, arrived) -> None:
        if self.fails:
            raise OSError("no space left")
        self.written.append((kind, given, arrived))


class Machine:
    """A machine that publishes how many rows there are."""

    def __init__(self, log: Log | None = None) -> None:
        self._log, self.rows = log, N

    def _published(self, now):
        return vars(self) | {"rows": now.store.n}

    def _warn(self, now) -> None:
        pass


def leave(now, gone: list) -> None:
    """Let two rows go."""
    rows = np.array([3, 4])
    now.store.weight[rows] = 0.0
    now.optima[0, 1].update()
    gone.append(rows)


def test_rows_are_removed_behind_the_block_and_the_change_is_recorded():
    now, log = state("svc"), Log()
    machine = Machine(log)
    with changing(machine, now, "rows.journal", "forget", {"ids": [3, 4]}) as gone:
        leave(now, gone)
        assert now.store.n == N
    assert now.store.n == machine.rows == N - 2
    assert log.written == [("forget", {"ids": [3, 4]}, N)]


def test_nothing_is_recorded_without_a_journal():
    now, log = state("svc"), Log()
    with changing(Machine(log), now, None, "forget", {}) as gone:
        leave(now, gone)
    assert log.written == []


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, MemoryError])
def test_an_error_in_the_block_undoes_everything(error):
    now, machine = state("svc"), Machine()
    before = now.store.X.copy()

    def change() -> None:
        with changing(machine, now, None, "forget", {}) as gone:
            leave(now, gone)
            raise error

    with pytest.raises(error):
        change()
    np.testing.assert_array_equal(now.store.X, before)
    np.testing.assert_array_equal(now.store.weight, np.ones(N))
    assert machine.rows == N


def test_a_record_that_cannot_be_written_undoes_everything():
    now = state("svc")
    machine = Machine(Log(fails=True))

    def change() -> None:
        with changing(machine, now, "rows.journal", "forget", {}) as gone:
            leave(now, gone)

    with pytest.raises(OSError, match="no space left"):
        change()
    assert now.store.n == machine.rows == N
    np.testing.assert_array_equal(np.sort(now.store.ids), np.arange(N))


def with_kernel(function) -> OnlineState:
    """A state whose rows have another kernel than its optimum."""
    now = state("svc")
    now.store.kernel = Callable(function)
    now.store.cut(N, N)  # which forgets the Gram matrix
    return now


def asymmetric(A, B):
    return A @ B.T + 3.0 * A.sum(axis=1)[:, None]


def negative(A, B):
    return -(A @ B.T)


def test_an_infeasible_homotopy_names_a_kernel_that_may_be_indefinite_only():
    named = pytest.raises(ValueError, match="kernel must be symmetric and positive semidefinite")
    with named, indefinite_kernels_named(with_kernel(np.dot).store):
        raise InfeasibleError(0.5, 0)
    with pytest.raises(InfeasibleError), indefinite_kernels_named(state("svc").store):
        raise InfeasibleError(0.5, 0)


@pytest.mark.parametrize("function", [asymmetric, negative])
def test_a_failure_of_an_engine_names_a_kernel_whose_values_are_invalid(function):
    now = with_kernel(function)
    with pytest.raises(ValueError, match="kernel must be symmetric and positive semidefinite"):  # noqa: SIM117
        with changing(Machine(), now, None, "add", {}):
            raise RuntimeError("the homotopy cycles")


def test_a_failure_of_an_engine_does_not_blame_a_valid_kernel():
    now = with_kernel(lambda A, B: A @ B.T)
    with pytest.raises(RuntimeError, match="cycles"), indefinite_kernels_named(now.store):
        raise RuntimeError("the homotopy cycles")
