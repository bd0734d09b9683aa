"""Training of batch estimators on rows that are not read into memory as a whole."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import TYPE_CHECKING, Any

import numpy as np

from widestreet._src.engines.budget import Budget, OutOfBudget
from widestreet._src.estimators import columns, data_checks, placing
from widestreet._src.estimators.blocks import BlockFit, Classes, no_rows
from widestreet._src.estimators.census_checks import checked, describe, kernel_for
from widestreet._src.estimators.model import as_names
from widestreet._src.files.blocks import SpoolBlocks
from widestreet._src.files.formats import Batch
from widestreet._src.files.plan import Plan, fits_in_memory
from widestreet._src.files.port import EXAMINED
from widestreet._src.files.spool import Spool, spooled
from widestreet._src.files.stream import Stream
from widestreet._src.files.table import StoredRows
from widestreet._src.problems.formulations import DualFormulation
from widestreet._src.rows.census import Census
from widestreet._src.training.memory_of_fit import least_memory_of
from widestreet._src.training.settings import Resources, Settings
from widestreet._src.training.sharded import Recipe, Task

if TYPE_CHECKING:
    from widestreet._src.estimators.optimal import OptimalFit


def is_stored(model: Any, X: Any, settings: Resources, layers: int = 1) -> bool:
    """Return whether rows do not fit into memory: those of files, or a map beyond the limit.

    A map is read where it lies if the fit needs random access to it.
    """
    if not isinstance(settings, Settings):  # an estimator that needs all rows
        return False
    if isinstance(X, np.memmap):
        anywhere = model.kernel == "precomputed" or model.warm_start
        numbers = X.ndim == 2 and X.dtype.kind in "fiub"
        if anywhere or not numbers:
            return False
        needed = least_memory_of(X.shape[0], layers, X.shape[1])
        return max(needed, X.nbytes) > settings.max_memory
    if not isinstance(X, StoredRows):
        return False
    return not fits_in_memory(settings.max_memory, *X.shape, X.dtype.itemsize, layers)


def in_memory(
    X: Any, y: Any, sample_weight: Any, settings: Resources, *, labels: bool = False
) -> tuple[tuple[Any, Any, Any], list[str] | None]:
    """Return rows, targets and weights in memory, and the names of columns of files.

    Invalid values in files are refused. `labels` tells whether y are labels of classes.
    """
    given = X, y, sample_weight
    if not isinstance(X, StoredRows) or not isinstance(settings, Settings):
        return given, None
    _require_rows(X)
    parts = list(checked(Stream(*given), labels=labels))
    rows, target, weight = (
        None if parts[0][j] is None else np.concatenate([part[j] for part in parts])
        for j in range(3)
    )
    return (rows, target, weight), X.feature_names


def fit_stored(
    model: OptimalFit,
    given: tuple[Any, Any, Any],
    settings: Settings,
    formulation: DualFormulation,
    *,
    layers: int = 1,
    labels: bool = False,
) -> None:
    """Train on rows that are read once and kept in a temporary file.

    Parameters
    ----------
    model : OptimalFit
    given : tuple
        X, y and sample_weight as the user passed them; y is None without targets.
    settings : Settings
    formulation : DualFormulation
    layers : int
        Variables per row.
    labels : bool
        Whether y are labels of classes.

    Sets: the fitted attributes of the model.
    """
    if model.kernel == "precomputed":
        raise TypeError("X: kernel='precomputed' needs the kernel matrix in memory")
    if model.warm_start:
        raise ValueError("warm_start must be False for rows that are not in memory")
    placing.refuse_gpu(model.device, "rows that do not fit in max_memory")
    if given[1] is None and (labels or layers == 2):
        name = type(model).__name__
        raise ValueError(f"y: this {name} estimator requires y to be passed, but y is None")
    _require_rows(given[0])
    stream, budget = Stream(*given), Budget(settings.max_time)
    plan = Plan.of(settings.max_memory, *stream.shape, stream.dtype.itemsize, layers)
    with closing(_spool(model, stream, plan, settings, budget, labels)) as spool:
        census = spool.census
        data_checks.check_weights(census.weights)
        kernel = kernel_for(model, census, stream.names)
        none = no_rows(census, kernel, formulation)
        classes = Classes.of(model, census, formulation) if labels else None
        seen: dict[str, Any] = {"n_features_in_": census.columns}
        if stream.names is not None:
            seen["feature_names_in_"] = as_names(stream.names)
        task = Task(
            blocks=SpoolBlocks(spool, none),
            recipe=Recipe(
                kernel,
                formulation,
                spool.longest(none, settings.threads),
                None if classes is None else classes.weight,
                threads=settings.threads,
            ),
            none=none,
            classes=0 if classes is None else len(classes.weight),
            threads=settings.threads,
            room=plan.room,
        )
        fit = BlockFit(given, census, seen, settings, formulation, budget, classes)
        fit.train(model, task)


def _require_rows(X: Any) -> None:
    if X.shape[0] == 0:
        raise ValueError(f"X has no rows: {X!r}")


def _refuse_fractions(y: Any) -> None:
    """Raise ValueError for labels that are not whole: there may be as many classes as rows."""
    if y.dtype.kind == "f" and np.isfinite(y).all() and np.any(y != np.floor(y)):
        data_checks.check_labels(y)


def _spool(
    model: OptimalFit, stream: Stream, plan: Plan, settings: Settings, budget: Budget, labels: bool
) -> Spool:
    """Read all rows; refuse invalid values and name their place."""

    def batches() -> Iterator[Batch]:
        for X, y, weight in stream.batches(plan.batch_rows):
            budget.look_at_end()
            if labels:
                _refuse_fractions(np.asarray(y))
            text = not labels and y is not None and np.asarray(y).dtype.kind not in "fiub"
            yield X, columns.numbers("y", y) if text else y, weight

    def refuse(census: Census) -> None:
        assert census.fault is not None
        raise ValueError(describe(census.fault, stream.place(census.fault.row), stream.names))

    try:
        return spooled(
            batches(),
            rows=stream.shape[0],
            columns=stream.shape[1],
            dtype=stream.dtype,
            labels=labels,
            weighted=stream.weighted,
            scratch=model.scratch,
            block_rows=plan.block_rows,
            buffer_bytes=plan.buffer_bytes,
            rng=settings.rng,
            extra=EXAMINED,
            check=refuse,
        )
    except OutOfBudget:
        raise TimeoutError(
            f"max_time={settings.max_time:g} s were over before all rows were read: raise max_time"
        ) from None
