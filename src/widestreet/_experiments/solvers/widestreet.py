"""widestreet, with each of its strategies."""

from __future__ import annotations

from typing import Any

from widestreet._experiments.harness.solver import CACHE_MB, Estimator
from widestreet._experiments.harness.task import Task


class Widestreet(Estimator):
    """This library.

    Parameters
    ----------
    strategy : str
        A name that `strategy=` takes.
    **options
        Parameters of the strategy that are not the default.
    """

    package = module = "widestreet"

    def __init__(self, strategy: str, **options: Any) -> None:
        self.strategy, self.options = strategy, options
        words = "".join(f"-{key}-{value}" for key, value in options.items())
        first = strategy == "auto" and not options
        self.name = "widestreet" if first else f"widestreet-{strategy}{words}"
        self.title = "widestreet" if first else f"widestreet ({self.plan})"
        memory = f"cache_size={CACHE_MB} bounds all its memory"
        self.note = f"strategy {self.plan!r}; {{threads}} threads; {memory}; certificate included"
        self.rank = 0 if first else 1
        self.invited = strategy in ("auto", "smo")  # the others have a page of their own

    @property
    def plan(self) -> str:
        """The strategy and its options as text."""
        return ", ".join([self.strategy, *(f"{k}={v}" for k, v in self.options.items())])

    def estimator(self, task: Task, tol: float, threads: int) -> Any:
        import widestreet
        from widestreet._src.estimators.parameter_checks import STRATEGIES

        kind: Any = widestreet.SVC if task.kind == "svc" else widestreet.SVR
        strategy = STRATEGIES[self.strategy](**self.options) if self.options else self.strategy
        ours = {"strategy": strategy, "n_jobs": threads, "random_state": 0}
        ours["cache_size"] = CACHE_MB
        return kind(**self.parameters(task, tol), **ours)

    def remarks(self, model: Any) -> dict[str, Any]:
        found = {"certificate": model.certificate_.status, "rounds": len(model.trace_)}
        if model.trace_:  # empty if time ran out before the end of a round
            found["engine_seconds"] = model.trace_[-1].seconds
        return found | {"kernel_values": int(model.n_kernel_values_)}


def strategies() -> list[str]:
    """Return the names that `strategy=` takes."""
    from widestreet._src.estimators.parameter_checks import STRATEGIES

    return list(STRATEGIES)


SOLVERS = [Widestreet(strategy) for strategy in strategies()] + [Widestreet("isvm", block=256)]
