"""The time of a fit of several classes, divided among the pairs and their examination."""

from __future__ import annotations

from threading import Lock

from widestreet._src.engines.budget import Budget
from widestreet._src.status import Status
from widestreet._src.training.pair_forecast import PairForecast

LEAST_SECONDS = 0.01  # for a pair, as long as there is time at all
_MOST_FOR_PROOF = 0.6  # of `max_time`, kept back for the examination of all pairs


class PairBudgets:
    """Budgets of the pairs that are being solved. Several threads may ask for one.

    Parameters
    ----------
    whole : Budget
        The budget of the whole fit.
    rows : int
        Sum of the numbers of rows of all pairs.
    workers : int
        Number of pairs that are solved at the same time.
    max_steps : int
        Largest number of pair steps of each pair.
    proof : PairForecast
        Forecast of the time of the examination.
    """

    def __init__(
        self, whole: Budget, rows: int, workers: int, max_steps: int, proof: PairForecast
    ) -> None:
        self.whole, self.proof = whole, proof
        self._workers, self._max_steps = workers, max_steps
        self._rows_left = rows  # of pairs that were not started
        self._started: list[Budget] = []
        self._lock = Lock()

    def share(self, rows: int) -> Budget | None:
        """Return the budget of pairs with `rows` rows: a share of the remaining time.

        The time for the examination is reserved. The result is None if no time is left.
        Sets: rows left, started.
        """
        with self._lock:
            proof = 0.0
            if self.whole.max_time is not None:
                proof = min(self.proof.seconds(), _MOST_FOR_PROOF * self.whole.max_time)
            if self.whole.stopped or self.whole.remaining(proof) == 0:
                return None
            share = min(1.0, self._workers * rows / max(rows, self._rows_left))
            self._rows_left -= rows
            budget = self.whole.part(
                share, reserve=proof, least=LEAST_SECONDS, max_steps=self._max_steps
            )
            self._started.append(budget)
            return budget

    def restart(self, rows: int) -> None:
        """Count pairs with `rows` rows, those that are not solved, as not started.

        Sets: rows left.
        """
        with self._lock:
            self._rows_left = rows

    def count(self, support: int, rows: int) -> None:
        """Count a pair that was solved. Sets: proof."""
        with self._lock:
            self.proof.count(support, rows)

    def stop(self) -> None:
        """Stop the pairs that are being solved, and start no others. Sets: all budgets."""
        with self._lock:
            for budget in (self.whole, *self._started):
                budget.stopped = True

    @property
    def why(self) -> Status:
        """Status of a pair that gets no time: interrupted, or out of time."""
        return Status.INTERRUPTED if self.whole.stopped else Status.TIME_LIMIT
