"""One fit: from rows and a dual to a certified solution."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from math import isnan

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from widestreet.arrays import Floats, Ints
from widestreet.budget import Budget, OutOfBudget
from widestreet.certificate import Certificate, Examination, examine, unexamined
from widestreet.duals import Dual
from widestreet.engines.working_set import Check, WorkingSetEngine
from widestreet.fleet import Fleet
from widestreet.gram import Gram
from widestreet.kernels import Kernel
from widestreet.progress import observer
from widestreet.rows import Rows
from widestreet.solution import Solution
from widestreet.strategies import Strategy
from widestreet.threads import limited_blas

_LEAST_TILE = 256  # rows of the smallest working set worth having
_PANEL_BYTES = 1 << 26  # scratch of a scan
_ROWS_PER_THREAD = 1000  # fewer are not worth waking another thread for
_ANSWER_WITHIN = 0.15  # seconds a certificate may take after an interrupt


@dataclass(frozen=True, eq=False)
class Settings:
    """Everything about a fit that is not the problem itself."""

    strategy: Strategy
    tol: float
    max_steps: int
    max_time: float | None
    max_memory: int
    threads: int
    verbose: int
    skip: bool
    rng: np.random.Generator


@dataclass(frozen=True, eq=False)
class Trained:
    """A solution with its biases and its certificate."""

    solution: Solution
    bias: Floats
    certificate: Certificate


def train(
    kernel: Kernel, rows: Rows, dual: Dual, place: Ints | None, settings: Settings
) -> Trained:
    """Solve a dual and certify the result.

    Parameters
    ----------
    kernel : Kernel
    rows : Rows
    dual : Dual
    place : ndarray or None
        Where row i of the dual stands among `rows`; None means at i.
    settings : Settings
    """
    capacity = working_set_capacity(settings.max_memory, dual, rows.shape[1])
    threads = min(settings.threads, 1 + dual.rows // _ROWS_PER_THREAD)
    budget = Budget(settings.max_time, settings.max_steps)
    gram = Gram(kernel, rows, threads=threads, between=budget.look_at_clock)
    proof = Gram(kernel, rows, threads=threads, between=budget.look_at_end)
    examiner = _Examiner(proof, dual, place)
    with (
        limited_blas(threads),
        observer(settings.verbose, settings.tol) as observe,
    ):
        solution = WorkingSetEngine(
            Fleet.of(gram, dual, place, threads=threads),
            settings.strategy,
            tol=settings.tol,
            check=examiner.check,
            budget=budget,
            capacity=capacity,
            observer=observe,
            rng=settings.rng,
            threads=threads,
            skip=settings.skip,
        ).solve()
    certificate, bias = examiner.certify(solution, settings.tol, gram.seconds_per_value)
    if certificate.status not in ("optimal", "approximate"):
        warnings.warn(_advice(certificate), ConvergenceWarning, stacklevel=4)
    every = solution.kernel_values + examiner.gram.kernel_values
    return Trained(replace(solution, kernel_values=every), bias, certificate)


class _Examiner:
    """Examines points for the engine and remembers the last one."""

    def __init__(self, gram: Gram, dual: Dual, place: Ints | None) -> None:
        self.gram, self.dual, self.place = gram, dual, place
        self._beta: Floats | None = None
        self._last: Examination | None = None

    def examine(self, beta: Floats) -> Examination:
        if self._last is None or self._beta is None or not np.array_equal(beta, self._beta):
            self._last = examine(self.gram, self.dual, beta, self.place)
            self._beta = beta.copy()
        return self._last

    def check(self, beta: Floats) -> Check:
        found = self.examine(beta)
        return Check(found.violation, found.score)

    def certify(
        self, solution: Solution, tol: float, seconds_per_value: float
    ) -> tuple[Certificate, Floats]:
        """The certificate and the biases; an empty one if there is no time to examine anything."""
        support = int(solution.beta.any(axis=0).sum())
        cost = 2.0 * seconds_per_value * support * self.dual.rows
        if solution.status == "interrupted" and cost > _ANSWER_WITHIN:
            return unexamined(solution.status, solution.dual_objective, tol), solution.bias
        try:
            found = self.examine(solution.beta)
        except (OutOfBudget, KeyboardInterrupt) as stop:
            status = "interrupted" if isinstance(stop, KeyboardInterrupt) else solution.status
            return unexamined(status, solution.dual_objective, tol), solution.bias
        return found.certificate(solution.status, tol), found.bias


def working_set_capacity(max_memory: int, dual: Dual, columns: int) -> int:
    """Rows of the working set whose tile, with everything else, fits into `max_memory` bytes.

    Everything else is what has one entry per row and the scratch of a scan. Half of the rest is
    for the tile in float64, half for the copy while it grows and for blocks of pair steps.
    """
    per_row = 200 * dual.layers
    fixed = dual.rows * per_row + min(_PANEL_BYTES, 8 * dual.rows * columns) + (1 << 20)
    least = fixed + 16 * min(_LEAST_TILE, dual.rows) ** 2
    if max_memory < least:
        raise ValueError(
            f"max_memory={max_memory:,} bytes is too small: {dual.rows:,} rows of {columns:,} "
            f"columns need at least {least:,} bytes; raise max_memory (or cache_size), or leave "
            "both at None"
        )
    return int(np.sqrt((max_memory - fixed) / 16))


def _advice(certificate: Certificate) -> str:
    """What a user who got this certificate should know and do."""
    cure = {
        "time_limit": "raise max_time",
        "iteration_limit": "raise max_iter or set it to -1",
        "interrupted": "let it run to the end",
    }.get(certificate.status, "scale the features, lower C, or accept a larger tol")
    if certificate.n_rows == 0:
        return (
            f"training stopped with status {certificate.status!r} and no time was left to certify "
            f"the model (dual objective {certificate.dual_objective:.6g}). It is usable; to know "
            f"how good it is, {cure}."
        )
    gap = f"duality gap {certificate.gap:.3g} (relative {certificate.relative_gap:.3g})"
    if isnan(certificate.gap):
        gap = "no duality gap for a kernel that may be indefinite"
    return (
        f"training stopped with status {certificate.status!r}: violation "
        f"{certificate.kkt_violation:.3g} (tol={certificate.tol:g}), {gap}. The model is usable; "
        f"to get nearer to the optimum, {cure}."
    )
