"""The interface of a paper's module, and the findings of its run."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from widestreet._experiments.harness.measurement import Experiment, Measurement, Method
from widestreet._experiments.harness.records import Record, answers
from widestreet._experiments.harness.report import Section
from widestreet._experiments.harness.tables import Spread, count, decimals, digits, percent, seconds
from widestreet._experiments.harness.task import Task

COLUMNS = """\
*time*: wall clock of `fit` in seconds, for widestreet including the certificate; "> N": not
finished after N seconds; scikit-learn was then killed, widestreet stopped with the model it had.
*SVs*: rows with a nonzero coefficient. For several runs (seeds 0, 1, ...), mean ± standard
deviation. *certificate*: the status of widestreet's model: "optimal" is proved, "approximate"
was asked for, "time_limit" ran out of time. *violation*: of the optimality conditions (KKT);
*relative gap*: primal minus dual objective divided by the larger; both recomputed in float64
over every training row, also for scikit-learn and for models of a sample, and the worst of the
runs. All methods were asked for a violation of {tol:g}."""


@dataclass(frozen=True)
class Problem(Task):
    """Data, a kernel and parameters.

    Attributes
    ----------
    source : str
        What the data are, and what they stand for if they are not the paper's.
    """

    source: str = ""


class Findings:
    """The records of a run, in the order of its plan.

    Attributes
    ----------
    quick : bool
        Whether it was a quick run.
    plan : list of Measurement
    records : list of dict
        Of those measurements that have one.
    """

    def __init__(
        self, plan: Sequence[Measurement], records: Iterable[Record], quick: bool = False
    ) -> None:
        self.plan, self.records, self.quick = list(plan), list(records), quick
        self._runs: dict[tuple[str, str], list[Record]] = {}
        for record in self.records:
            key = record["problem"], record["method"]["name"]
            self._runs.setdefault(key, []).append(record)

    def of(self, problem: str, method: str) -> list[Record]:
        """Return the runs of a method on a problem, by seed."""
        return self._runs.get((problem, method), [])

    def answers(self, problem: str, method: str) -> list[Record]:
        """Return those of them that ended with a model."""
        return answers(self.of(problem, method))

    def methods(self, problem: str) -> list[Method]:
        """Return the methods that were planned for a problem."""
        found = {m.method.name: m.method for m in self.plan if m.problem == problem}
        return list(found.values())

    def sizes(self) -> dict[str, int]:
        """Return the problems that were planned, and their training rows."""
        return {m.problem: m.rows for m in self.plan}

    def mean(self, problem: str, method: str, key: str) -> float | None:
        """Return the mean of a number over the runs that ended; None if there are none."""
        values = [r[key] for r in self.answers(problem, method) if r.get(key) is not None]
        return sum(values) / len(values) if values else None

    def known(self, problem: str, method: str, key: str) -> float:
        """Return the mean of a number; KeyError if it was not measured."""
        mean = self.mean(problem, method, key)
        if mean is None:
            raise KeyError(f"{method} on {problem}")
        return mean

    def numbers(self) -> dict[str, str]:
        """Return the means of everything, as `<problem>_<method>_<key>`, for a paper's text."""
        found = {}
        for problem in self.sizes():
            for method in self.methods(problem):
                for key, form in FORMS.items():
                    mean = self.mean(problem, method.name, key)
                    if mean is not None:
                        found[slot(problem, method.name, key)] = form(mean)
        return found

    def times(self, problem: str, slow: str, fast: str) -> str:
        """Return the time of one method divided by that of another; "more than" if it was late."""
        late, base = seconds(self.of(problem, slow)), self.known(problem, fast, "seconds")
        if isinstance(late, str) and late.startswith("> "):
            return f"more than {digits(self.of(problem, slow)[-1]['limit'] / base)}"
        return digits(self.known(problem, slow, "seconds") / base)

    def deviation(self, problem: str, method: str, key: str) -> float:
        """Return the standard deviation of a number over the runs that ended."""
        values = [r[key] for r in self.answers(problem, method)]
        if not values:
            raise KeyError(f"{method} on {problem}")
        return Spread(values).deviation or 0.0


FORMS: dict[str, Callable[[float], str]] = {
    **dict.fromkeys(("seconds", "engine_seconds", "stage_one_seconds"), digits),
    **dict.fromkeys(("n_sv", "rounds", "iterations", "stage_one_iterations"), count),
    **dict.fromkeys(("mse", "rho"), decimals),
    **dict.fromkeys(("violation", "relative_gap"), "{:.2g}".format),
    "accuracy": percent,
}


def slot(problem: str, method: str, key: str) -> str:
    """Return the name of a number in a paper's text."""
    return re.sub(r"\W", "_", f"{problem}_{method}_{key}")


@dataclass(frozen=True, kw_only=True)
class Paper(Experiment):
    """An experiment that repeats a paper's.

    Attributes
    ----------
    title : str
    reference : str
        The paper, and which of its tables and figures are reproduced.
    plan : callable
        Returns the measurements; given True, those of a quick run.
    sections : callable
        Turns findings into the sections of the page.
    facts : callable
        Turns the findings of a full run into the values of the places in `words`.
    columns : str
        What the columns of its tables mean, with a place for `tol`.
    """

    title: str
    reference: str
    plan: Callable[[bool], list[Measurement]]
    sections: Callable[[Findings], list[Section]]
    facts: Callable[[Findings], dict[str, str]]
    columns: str = COLUMNS

    @property
    def words(self) -> Path:
        """The comparison with the paper: Markdown with places for `facts`."""
        return Path(__file__).with_name(f"{self.name}.md")
