"""Training of batch estimators on rows that are not read into memory as a whole."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from widestreet._src.arrays import Floats
from widestreet._src.engines.budget import Budget
from widestreet._src.estimators import validation
from widestreet._src.estimators.callbacks import RoundReporter
from widestreet._src.estimators.census_checks import (
    class_weights,
    classes_of,
    describe,
    kernel_for,
)
from widestreet._src.estimators.fitted import classifier_attributes, single_attributes
from widestreet._src.estimators.model import as_names
from widestreet._src.files.blocks import SpoolBlocks
from widestreet._src.files.plan import Plan, fits_in_memory
from widestreet._src.files.port import EXAMINED
from widestreet._src.files.spool import Spool, spooled
from widestreet._src.files.stream import Stream
from widestreet._src.files.table import StoredRows
from widestreet._src.interrupts import undisturbed
from widestreet._src.kernels.kernels import Kernel, Linear, Precomputed
from widestreet._src.problems.formulations import DualFormulation
from widestreet._src.reporting.observers import Observers
from widestreet._src.rows import DenseRows
from widestreet._src.rows.census import Census
from widestreet._src.training.outcome import Trained
from widestreet._src.training.settings import Resources, Settings
from widestreet._src.training.sharded import Recipe, Supports, Task, train_blocks

if TYPE_CHECKING:
    from widestreet._src.estimators.batch_classifier import BatchClassifier
    from widestreet._src.estimators.optimal import OptimalFit

_SPARSE_DENSITY = 0.25  # as for rows in memory: below, the core skips zeros


def is_stored(X: Any, settings: Resources, layers: int = 1) -> bool:
    """Return whether rows do not fit into memory: those of files, or a map beyond the limit."""
    if not isinstance(settings, Settings):  # an estimator that needs all rows
        return False
    if isinstance(X, np.memmap):
        return X.ndim == 2 and X.dtype.kind in "fiub" and X.nbytes > settings.max_memory
    if not isinstance(X, StoredRows):
        return False
    return not fits_in_memory(settings.max_memory, *X.shape, X.dtype.itemsize, layers)


def in_memory(
    X: Any, y: Any, sample_weight: Any, settings: Resources
) -> tuple[tuple[Any, Any, Any], list[str] | None]:
    """Return rows, targets and weights in memory, and the names of columns of files."""
    given = X, y, sample_weight
    if not isinstance(X, StoredRows) or not isinstance(settings, Settings):
        return given, None
    parts = list(Stream(*given).batches())
    rows, target, weight = (
        None if parts[0][j] is None else np.concatenate([part[j] for part in parts])
        for j in range(3)
    )
    return (rows, target, weight), X.feature_names


@dataclass(frozen=True, eq=False)
class Stored:
    """Rows of a fit on disk.

    Attributes
    ----------
    spool : Spool
    census : Census
    kernel : Kernel
    none : Vectors
        No rows, in the form that all rows have.
    longest : float
        The largest |x|^2 of a row, relative to the centre.
    seen : dict
        Names and number of the columns, as attributes.
    room : int
        Rows for which the memory of the working set suffices.
    budget : Budget
        Begun before the rows were read.
    """

    spool: Spool
    census: Census
    kernel: Kernel
    none: DenseRows
    longest: float
    seen: dict[str, Any]
    room: int
    budget: Budget

    def task(
        self, formulation: DualFormulation, settings: Settings, class_weight: Floats | None = None
    ) -> Task:
        """Return what is trained; `class_weight` is None for targets that are not classes."""
        threads = settings.threads
        return Task(
            blocks=SpoolBlocks(self.spool, self.none),
            recipe=Recipe(self.kernel, formulation, self.longest, class_weight, threads=threads),
            none=self.none,
            classes=0 if class_weight is None else len(class_weight),
            threads=threads,
            room=self.room,
        )


@contextmanager
def _stored(
    model: OptimalFit,
    stream: Stream,
    settings: Settings,
    formulation: DualFormulation,
    layers: int,
    labels: bool,
) -> Iterator[Stored]:
    """Read all rows once; the temporary file is gone after the block."""
    if model.kernel == "precomputed":
        raise TypeError("X: kernel='precomputed' needs the kernel matrix in memory")
    if model.warm_start:
        raise ValueError("warm_start must be False for rows that are not in memory")
    budget = Budget(settings.max_time)
    rows, columns = stream.shape
    plan = Plan.of(settings.max_memory, rows, columns, stream.dtype.itemsize, layers)

    def refuse(census: Census) -> None:
        assert census.fault is not None
        raise ValueError(describe(census.fault, stream.place(census.fault.row), stream.names))

    spool = spooled(
        stream.batches(plan.batch_rows),
        rows=rows,
        columns=columns,
        dtype=stream.dtype,
        labels=labels,
        scratch=model.scratch,
        block_rows=plan.block_rows,
        buffer_bytes=plan.buffer_bytes,
        rng=settings.rng,
        extra=EXAMINED,
        check=refuse,
    )
    try:
        census = spool.census
        validation.check_weights(census.weights)
        kernel = kernel_for(model, census, stream.names)
        assert not isinstance(kernel, Precomputed)
        centred = kernel.translation_invariant or (
            isinstance(kernel, Linear) and formulation.coefficients_sum_to_zero
        )
        few = census.density < _SPARSE_DENSITY
        centre = census.plain.mean if centred and not few else None
        none = DenseRows(np.empty((0, columns), dtype=stream.dtype), centre, skip_zeros=few)
        longest = max(
            none.holding(spool.read("X", k).reshape(-1, columns)).largest_square(settings.threads)
            for k in np.flatnonzero(spool.sizes).tolist()
        )
        seen: dict[str, Any] = {"n_features_in_": columns}
        if stream.names is not None:
            seen["feature_names_in_"] = as_names(stream.names)
        yield Stored(spool, census, kernel, none, longest, seen, plan.room, budget)
    finally:
        spool.close()


def fit_one_problem(
    model: OptimalFit,
    given: tuple[Any, Any, Any],
    settings: Resources,
    formulation: Any,
    layers: int,
) -> None:
    """Train the single problem of a regressor or a one-class SVM.

    Parameters
    ----------
    model : OptimalFit
    given : tuple
        X, y and sample_weight as the user passed them; y is None without targets.
    settings : Settings
    formulation : DualFormulation
    layers : int
        Variables per row.

    Sets: everything that is fitted.
    """
    assert isinstance(settings, Settings)
    stream = Stream(*given)
    with _stored(model, stream, settings, formulation, layers, labels=False) as stored:
        report = RoundReporter(model, *given)
        with Observers(settings.verbose, settings.goal.tol, report) as observers:
            task = stored.task(formulation, settings)
            supports, [trained] = train_blocks(task, settings, observers, stored.budget)
    with undisturbed(swallow=model.on_interrupt == "keep"):
        fitted = single_attributes(
            coef=supports.lines,
            reading=formulation.read(trained.bias, settings.goal.tol),
            scale=formulation.scale,
            steps=trained.solution.pair_steps,
            **_shared(stored, supports, [trained]),
        )
        model._adopt(stored.seen, fitted | {"shape_fit_": stream.shape})
    model._finish(report)


def fit_classes(
    model: BatchClassifier, given: tuple[Any, Any, Any], settings: Resources, formulation: Any
) -> None:
    """Train a classifier: the problems of all pairs of classes, one after the other.

    Sets: everything that is fitted.
    """
    assert isinstance(settings, Settings)
    stream = Stream(*given)
    with _stored(model, stream, settings, formulation, 1, labels=True) as stored:
        assert stored.census.labels is not None
        labels = classes_of(stored.census.labels)
        weights = class_weights(model.class_weight, labels)
        formulation.check(weights * labels.weight, labels.classes.tolist())
        pairs = combinations(labels.classes.tolist(), 2)
        names = [f"{one} against {other}" for one, other in pairs]
        report = RoundReporter(model, *given, problems=len(names))
        with Observers(settings.verbose, settings.final_violation, report, names) as observers:
            task = stored.task(formulation, settings, weights)
            supports, trained = train_blocks(task, settings, observers, stored.budget)
    readings = [formulation.read(one.bias, settings.final_violation) for one in trained]
    with undisturbed(swallow=model.on_interrupt == "keep"):
        fitted = classifier_attributes(
            code=supports.code,
            lines=supports.lines,
            readings=readings,
            classes=labels.classes,
            class_weight=weights,
            scale=formulation.scale,
            steps=np.array([one.solution.pair_steps for one in trained], dtype=np.int64),
            **_shared(stored, supports, trained),
        )
        model._adopt(stored.seen, fitted | {"shape_fit_": stream.shape})
    model._warn_of_zero_margin(
        [
            name
            for name, one, reading in zip(names, trained, readings, strict=True)
            if one.certificate.status.success and reading.margin is None
        ],
        settings.final_violation,
    )
    model._finish(report)


def _shared(stored: Stored, supports: Supports, trained: list[Trained]) -> dict[str, Any]:
    """Return the arguments of `fitted_attributes` that all estimators share."""
    return {
        "kernel": stored.kernel,
        "X": supports.data,
        "centre": stored.none.centre,
        "index": supports.origin,
        "records": (record for one in trained for record in one.solution.trace),
        "kernel_values": sum(one.solution.kernel_values for one in trained),
        "certificates": [one.certificate for one in trained],
    }
