"""What is measured: one fit of a method to a problem."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from widestreet.benchmarks.records import Record, settled

from .method import Method


@dataclass(frozen=True)
class Measurement:
    """One fit.

    Attributes
    ----------
    problem : str
        A name among the paper's problems.
    rows : int
        Training rows.
    seed : int
        What the method draws its random numbers from.
    limit : float
        Seconds that the fit may take: ours then stops with what it has, LIBSVM is killed.
    """

    problem: str
    rows: int
    method: Method
    seed: int = 0
    limit: float = 120.0
    threads: int = 1

    @property
    def name(self) -> str:
        return f"{self.problem}-{self.rows}-{self.method.name}-{self.seed}"

    @property
    def title(self) -> str:
        return f"{self.problem} {self.rows:,} {self.method.title} seed {self.seed}"

    @property
    def facts(self) -> dict[str, Any]:
        return asdict(self)

    def is_settled(self, record: Record | None) -> bool:
        """Whether a record answers it: the same method and threads, and no less time."""
        if record is None or not settled(record, self.limit):
            return False
        same = all(record.get(key) == self.facts[key] for key in ("method", "threads"))
        stopped = record.get("certificate") == "time_limit" and record["limit"] < 0.99 * self.limit
        return same and not stopped


def from_facts(facts: dict[str, Any]) -> Measurement:
    """The measurement whose `facts` these are."""
    return Measurement(**facts | {"method": Method(**facts["method"])})
