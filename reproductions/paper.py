"""What a paper's module provides, and what was found for it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from widestreet.benchmarks.records import Record
from widestreet.benchmarks.task import Split, Task

from . import cells
from .measurement import Measurement
from .method import Method
from .report import Section
from .spread import Spread, count, decimals, digits, percent
from .words import COLUMNS


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
        Of those measurements that there is a record of.
    """

    def __init__(
        self, plan: Sequence[Measurement], records: Iterable[Record], quick: bool = False
    ) -> None:
        self.plan, self.records, self.quick = list(plan), list(records), quick

    def of(self, problem: str, method: str) -> list[Record]:
        """The runs of a method on a problem, by seed."""
        asked = (problem, method)
        return [r for r in self.records if (r["problem"], r["method"]["name"]) == asked]

    def answers(self, problem: str, method: str) -> list[Record]:
        """Those of them that ended with a model."""
        return [r for r in self.of(problem, method) if r["status"] == "answer"]

    def methods(self, problem: str) -> list[Method]:
        """Those that were planned for a problem."""
        found = {m.method.name: m.method for m in self.plan if m.problem == problem}
        return list(found.values())

    def sizes(self) -> dict[str, int]:
        """Problems that were planned, and their training rows."""
        return {m.problem: m.rows for m in self.plan}

    def mean(self, problem: str, method: str, key: str) -> float | None:
        """The mean of a number over the runs that ended; None if there are none."""
        values = [r[key] for r in self.answers(problem, method) if r.get(key) is not None]
        return sum(values) / len(values) if values else None

    def numbers(self) -> dict[str, str]:
        """Means of all that was measured, as `<problem>_<method>_<what>`, for a paper's words."""
        found = {}
        for problem in self.sizes():
            for method in self.methods(problem):
                for key, form in FORMS.items():
                    mean = self.mean(problem, method.name, key)
                    if mean is not None:
                        found[slot(problem, method.name, key)] = form(mean)
        return found

    def times(self, problem: str, slow: str, fast: str) -> str:
        """How many times as long one method took as another, in words if one was not done."""
        late, base = cells.seconds(self.of(problem, slow)), self.mean(problem, fast, "seconds")
        if isinstance(late, str) and late.startswith("> ") and base:
            return f"more than {digits(self.of(problem, slow)[-1]['limit'] / base)}"
        mean = self.mean(problem, slow, "seconds")
        if mean is None or base is None:
            raise KeyError(f"{slow} or {fast} on {problem}")
        return digits(mean / base)

    def deviation(self, problem: str, method: str, key: str) -> float:
        """The standard deviation of a number over the runs that ended."""
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
    """What a number is called in a paper's words."""
    return re.sub(r"\W", "_", f"{problem}_{method}_{key}")


def nothing(one: Measurement, trace: Any, watched: Any) -> Record:
    """No remarks."""
    return {}


@dataclass(frozen=True)
class Paper:
    """A paper.

    Attributes
    ----------
    name : str
        What it is called on the command line.
    title : str
    reference : str
        The paper, and which of its tables and figures are reproduced.
    problems : callable
        Returns its problems by name.
    plan : callable
        Returns the measurements; given True, those of a quick run.
    sections : callable
        Turns findings into the sections of the report.
    facts : callable
        Turns the findings of a full run into the numbers that its words have places for.
    words : Path
        What agrees, what does not, and why: Markdown with places for `facts`.
    watch : callable
        A context in which a fit is run; what it yields is handed to `remarks`.
    remarks : callable
        What of the trace of a fit is worth a place in its record.
    measure : callable or None
        What a measurement is, if it is not one fit: makes its record of the problem and its rows.
    columns : str
        What the columns of its tables mean, with a place for `tol`.
    """

    name: str
    title: str
    reference: str
    problems: Callable[[], dict[str, Problem]]
    plan: Callable[[bool], list[Measurement]]
    sections: Callable[[Findings], list[Section]]
    facts: Callable[[Findings], dict[str, str]]
    words: Path
    watch: Callable[[Measurement], AbstractContextManager[Any]] = lambda one: nullcontext()
    remarks: Callable[[Measurement, Any, Any], Record] = nothing
    measure: Callable[[Any, Split, Measurement], Record] | None = None
    columns: str = COLUMNS
