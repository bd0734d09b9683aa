"""Measurements: a method on a problem, with a tolerance, a seed and limits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, field
from typing import Any

from widestreet._experiments.harness.discovery import solvers
from widestreet._experiments.harness.records import Record
from widestreet._experiments.harness.solver import CACHE_MB, Solver
from widestreet._experiments.harness.task import Split, Task

TOL = 1e-3  # the default of LIBSVM and of this library


@dataclass(frozen=True)
class Method:
    """A way to train: a solver as the race runs it, or a strategy of this library.

    Attributes
    ----------
    name : str
        Its name in records.
    title : str
        Its name in tables.
    strategy : str
        A class of `widestreet.strategies`, if `solver` is empty.
    parameters : dict
        Of the strategy.
    share : float
        Share of the training rows, drawn at random, that are trained on.
    memory : int
        MB that a fit with a strategy may use beside the data.
    solver : str
        The name of a solver with its settings in the race; empty for a strategy.
    processes : int
        Worker processes of a cluster in which a strategy is run; 0 for this process.
    """

    name: str
    title: str
    strategy: str = "Auto"
    parameters: dict[str, Any] = field(default_factory=dict)
    share: float = 1.0
    memory: int = CACHE_MB
    solver: str = ""
    processes: int = 0

    @property
    def library(self) -> Solver:
        ours = f"widestreet-cluster-{self.processes}" if self.processes else "widestreet"
        return solvers()[self.solver or ours]

    def options(self, seed: int, limit: float) -> dict[str, Any]:
        """Return the parameters that a strategy sets; its fit stops by itself at the limit."""
        if self.solver:
            return {}
        import widestreet.strategies

        strategy = getattr(widestreet.strategies, self.strategy)(**self.parameters)
        chosen = {"strategy": strategy, "random_state": seed, "cache_size": self.memory}
        return chosen | {"max_time": limit}


AUTO = Method("auto", "widestreet, auto")
SKLEARN = Method("libsvm", "scikit-learn (LIBSVM)", solver="scikit-learn")


@dataclass(frozen=True)
class Measurement:
    """One measurement: in most experiments one fit.

    Attributes
    ----------
    problem : str
        A name among the experiment's problems.
    rows : int
        Training rows.
    seed : int
        Seed of the method's random numbers.
    limit : float
        Seconds that a fit may take. A strategy then stops with the model it has; another solver
        is killed.
    repeats : int
        How often a short fit is timed.
    rest : float
        Seconds for everything but the fit: loading, predicting, certifying.
    """

    problem: str
    rows: int
    method: Method
    seed: int = 0
    limit: float = 120.0
    threads: int = 1
    tol: float = TOL
    repeats: int = 1
    rest: float = 3600.0

    @property
    def name(self) -> str:
        method = f"{self.method.name}-{self.tol:g}-{self.seed}"
        return f"{self.problem}-{self.rows}-{method}-{self.threads}"

    @property
    def title(self) -> str:
        how = f"tol {self.tol:g}, seed {self.seed}"
        return f"{self.problem} {self.rows:,} {self.method.title}, {how}"

    @property
    def facts(self) -> dict[str, Any]:
        return asdict(self)

    def is_settled(self, record: Record | None) -> bool:
        """Return whether a record answers it: same method and version, and no less time."""
        if record is None or record["status"] not in ("answer", "timeout"):
            return False
        stopped = record["status"] == "timeout" or record.get("certificate") == "time_limit"
        if stopped and record["limit"] < 0.99 * self.limit:
            return False
        version = self.method.library.version()
        same = all(record.get(key) == self.facts[key] for key in ("method", "threads"))
        return same and record.get("version", version) == version


def from_facts(facts: dict[str, Any]) -> Measurement:
    """Return the measurement whose `facts` these are."""
    return Measurement(**facts | {"method": Method(**facts["method"])})


def no_remarks(one: Measurement, trace: Any, watched: Any) -> Record:
    return {}


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """Problems, and what a measurement of them is.

    Attributes
    ----------
    name : str
        Its name on the command line.
    problems : callable
        Returns the problems by name.
    measure : callable or None
        Returns the record of a measurement from the problem and its rows; None for one fit.
    watch : callable
        A context in which a fit is run; what it yields is passed to `remarks`.
    remarks : callable
        Returns what a fit's trace adds to its record.
    """

    name: str
    problems: Callable[[], Mapping[str, Task]]
    measure: Callable[[Any, Split, Measurement], Record] | None = None
    watch: Callable[[Measurement], AbstractContextManager[Any]] = lambda one: nullcontext()
    remarks: Callable[[Measurement, Any, Any], Record] = no_remarks
