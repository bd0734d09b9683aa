"""Ways to train: a strategy of this library with its parameters, or LIBSVM by scikit-learn."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from widestreet.benchmarks.discovery import solvers
from widestreet.benchmarks.solver import CACHE_MB, Estimator
from widestreet.benchmarks.task import Task

LIBSVM = "LIBSVM"
TOL = 1e-3  # what everybody is asked for: the default of LIBSVM, and of this library


@dataclass(frozen=True)
class Method:
    """One line of a table.

    Attributes
    ----------
    name : str
        What records call it.
    title : str
        What tables call it.
    strategy : str
        A class of `widestreet.strategies`, or `LIBSVM`.
    parameters : dict
        Of the strategy.
    share : float
        Share of the training rows, drawn at random, that are trained on.
    memory : int
        MB that a fit may use beside the data.
    """

    name: str
    title: str
    strategy: str = "Auto"
    parameters: dict[str, Any] = field(default_factory=dict)
    share: float = 1.0
    memory: int = CACHE_MB

    @property
    def ours(self) -> bool:
        return self.strategy != LIBSVM

    @property
    def facts(self) -> dict[str, Any]:
        return asdict(self)

    def solver(self) -> Estimator:
        """How the race calls the library: the same data, the same memory, the same layout."""
        found: Estimator = solvers()["widestreet" if self.ours else "scikit-learn"]
        return found

    def estimator(self, task: Task, seed: int, threads: int, limit: float) -> Any:
        """An estimator that is not fitted yet; ours ends by itself at the limit."""
        model = self.solver().estimator(task, TOL, threads)
        if not self.ours:
            return model
        import widestreet.strategies

        strategy = getattr(widestreet.strategies, self.strategy)(**self.parameters)
        chosen = {"strategy": strategy, "random_state": seed, "cache_size": self.memory}
        return model.set_params(**chosen, max_time=limit)


AUTO = Method("auto", "widestreet, auto")
SKLEARN = Method("libsvm", "scikit-learn (LIBSVM)", LIBSVM)
