"""widestreet, with each of its strategies."""

from __future__ import annotations

from typing import Any

from ..solver import CACHE_MB, Estimator
from ..task import Task


class Widestreet(Estimator):
    """This library."""

    package = module = "widestreet"

    def __init__(self, strategy: str) -> None:
        self.strategy = strategy
        first = strategy == "auto"
        self.name = "widestreet" if first else f"widestreet-{strategy}"
        self.title = "widestreet" if first else f"widestreet ({strategy})"
        memory = f"cache_size={CACHE_MB} bounds all its memory"
        self.note = f"strategy {strategy!r}; {{threads}} threads; {memory}; certificate included"
        self.rank = 0 if first else 1
        self.invited = strategy in ("auto", "smo")  # the others have their reproductions

    def estimator(self, task: Task, tol: float, threads: int) -> Any:
        import widestreet

        kind: Any = widestreet.SVC if task.kind == "svc" else widestreet.SVR
        ours = {"strategy": self.strategy, "n_jobs": threads, "random_state": 0}
        ours["cache_size"] = CACHE_MB
        return kind(**self.parameters(task, tol), **ours)

    def remarks(self, model: Any) -> dict[str, Any]:
        return {
            "status": model.certificate_.status,
            "kernel_values": int(model.n_kernel_values_),
            "rounds": len(model.trace_),
        }


def strategies() -> list[str]:
    """What `strategy=` takes by name."""
    from widestreet.estimators.checks import STRATEGIES

    return list(STRATEGIES)


SOLVERS = [Widestreet(strategy) for strategy in strategies()]
