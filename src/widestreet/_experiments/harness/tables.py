"""Numbers and records as cells of tables."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from widestreet._experiments.harness.records import Record, answers

DASH = "-"
NOT_IN_TEXT = "not in the text"
CERTIFIED = ["certificate", "violation", "relative gap"]


def markdown(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """Return a table."""
    rows = [head, ["---"] * len(head), *lines]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


# -- numbers ---------------------------------------------------------------------------------------


def digits(value: float) -> str:
    """Write three digits."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def percent(value: float) -> str:
    """Write a share in percent with two decimals; the sign stands in the heading."""
    return f"{100 * value:.2f}"


def count(value: float) -> str:
    return f"{value:,.0f}"


def decimals(value: float) -> str:
    """Write four decimals."""
    return f"{value:.4f}"


@dataclass(frozen=True)
class Spread:
    """Values of several runs; `form` writes one of them."""

    values: Sequence[float]
    form: Callable[[float], str] = digits

    @property
    def mean(self) -> float:
        return sum(self.values) / len(self.values)

    @property
    def deviation(self) -> float | None:
        """The standard deviation of the sample; None for a single run."""
        if len(self.values) < 2:
            return None
        square = sum((value - self.mean) ** 2 for value in self.values)
        return math.sqrt(square / (len(self.values) - 1))

    def __str__(self) -> str:
        mean = self.form(self.mean)
        if self.deviation is None:
            return mean
        if self.form is not digits or "e" in mean:
            return f"{mean} ± {self.form(self.deviation)}"
        places = len(mean.partition(".")[2])  # as many for the deviation as for the mean
        return f"{mean} ± {self.deviation:,.{places}f}"


Cell: TypeAlias = str | Spread


# -- records ---------------------------------------------------------------------------------------


def outcome(record: Record) -> str:
    """Return why a record has no answer."""
    if record["status"] == "timeout":
        return f"timed out after {digits(record['limit'])} s"
    return f"{record['status']}: {record.get('reason', '')}".rstrip(": ").replace("|", "/")


def brief(record: Record) -> str:
    """Return a record in one line."""
    if record["status"] != "answer":
        return outcome(record)
    names = {"accuracy": "accuracy", "mse": "mean squared error"}
    scores = [f"{word} {record[key]:.4f}" for key, word in names.items() if key in record]
    parts = [f"{digits(record['seconds'])} s", *scores]
    parts += [f"{record['n_sv']:,} SVs"] if "n_sv" in record else []
    parts += [f"violation {record['violation']:.1e}"] if "violation" in record else []
    parts += [record["certificate"]] if "certificate" in record else []
    return ", ".join(parts)


def spread(runs: Sequence[Record], key: str, form: Callable[[float], str] = digits) -> Cell:
    """Return a number of the runs that have it; a dash if none has."""
    values = [r[key] for r in runs if r.get(key) is not None]
    return Spread(values, form) if values else DASH


def seconds(runs: Sequence[Record]) -> Cell:
    """Return the time, or why there is none."""
    if not runs:
        return "not run"
    stopped = [r for r in runs if r["status"] == "timeout" or r.get("certificate") == "time_limit"]
    if stopped:
        late = [r for r in stopped if r["status"] == "timeout"] or stopped
        return f"> {digits(max(r['limit'] for r in late))}"
    lost = [r for r in runs if r["status"] != "answer"]
    return outcome(lost[0]) if lost else spread(runs, "seconds")


def repeats(runs: Sequence[Record]) -> str:
    """Return the number of runs that ended."""
    return str(len(answers(runs)) or DASH)


def vectors(runs: Sequence[Record]) -> Cell:
    return spread(runs, "n_sv", count)


def accuracy(runs: Sequence[Record]) -> Cell:
    return spread(runs, "accuracy", percent)


def certified(runs: Sequence[Record]) -> list[Cell]:
    """Return the status, and the worst violation and gap over all training rows."""
    ended = answers(runs)
    if not ended:
        return [DASH] * len(CERTIFIED)
    kinds = Counter(r.get("certificate", "none of its own") for r in ended)
    words = [f"{kind} ({n})" if len(kinds) > 1 else kind for kind, n in kinds.items()]
    worst = [_two_digits(max(r[key] for r in ended)) for key in ("violation", "relative_gap")]
    return [", ".join(words), *worst]


def _two_digits(value: float) -> str:
    """Write two digits; a model that ran out of time has no certificate."""
    return f"{value:.1e}" if math.isfinite(value) else "not computed"
