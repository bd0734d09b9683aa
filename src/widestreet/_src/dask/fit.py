"""A fit on the collections of a cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
from distributed import Client
from scipy import sparse

import widestreet
from widestreet._src.arrays import Floats, Ints
from widestreet._src.dask.collections import Partitions
from widestreet._src.dask.forming import Form, stations_of
from widestreet._src.dask.gathering import Gathered, gather
from widestreet._src.dask.members import members, spread
from widestreet._src.dask.port import StationBlocks
from widestreet._src.dask.reading import Reader
from widestreet._src.dask.runner import DaskRunner
from widestreet._src.dask.station_set import Traffic
from widestreet._src.dask.waiting import wait_for_workers
from widestreet._src.engines.budget import Budget, OutOfBudget
from widestreet._src.engines.solution import Observer, TraceRecord
from widestreet._src.estimators import data_checks, placing
from widestreet._src.estimators.blocks import BlockFit, Classes, no_rows
from widestreet._src.estimators.callbacks import with_callbacks
from widestreet._src.estimators.census_checks import kernel_for
from widestreet._src.estimators.model import as_names
from widestreet._src.interrupts import noticed
from widestreet._src.reporting.observers import Observers
from widestreet._src.rows.census import Census
from widestreet._src.training.settings import Settings
from widestreet._src.training.sharded import Block, Recipe, Supports, Task

_FEW_ROWS = 20_000  # rows at most that are gathered and fitted in this process
_BYTES_OF_TILE = 24  # for each pair of rows of the working set
_BYTES_OF_ROW = 200  # of what a worker remembers of a row
_BYTES_OF_SCAN = 1 << 26  # scratch of a scan
_LEAST_TILE = 256  # rows of the smallest working set worth having
_WAIT = 10.0  # seconds that the members of equal rows are waited for


def fit_collections(model: Any, client: Client, X: Any, y: Any, sample_weight: Any) -> None:
    """Train a model of a cluster on collections. Sets: the fitted attributes of the model."""
    settings: Settings = model._settings()
    model._formulation()
    if model._targets == "labels":
        model._check_classification()
    if y is None and model._targets != "none":
        raise ValueError("y is missing: pass the labels or targets, with the partitions of X")
    budget = Budget(settings.max_time)
    partitions = Partitions.of(X, y, sample_weight)
    reader = Reader(model._unfitted(), model._targets, partitions.names, widestreet.__version__)
    with _in_time(settings):
        wait_for_workers(client, budget.look_at_end)
        gathered = gather(client, partitions, reader, budget.look_at_end)
    if sum(gathered.sizes) <= _FEW_ROWS:
        with _in_time(settings):
            given = gathered.local(budget.look_at_end)
        _fit_here(model, partitions.names, budget, *given)
        return
    try:
        _fit_there(model, gathered, (X, y, sample_weight), partitions.names, settings, budget)
    finally:
        gathered.release()


@contextmanager
def _in_time(settings: Settings) -> Iterator[None]:
    """Say what took too long if there is no time left before training begins."""
    try:
        yield
    except OutOfBudget:
        raise TimeoutError(
            f"max_time={settings.max_time:g} s were over before the workers had read the "
            "partitions: raise max_time"
        ) from None


def _fit_here(
    model: Any, names: list[Any] | None, budget: Budget, X: Any, y: Any, weight: Any
) -> None:
    """Train the model as the local estimator does, in the time that is left.

    Sets: the fitted attributes.
    """
    if names is not None and not sparse.issparse(X):
        import pandas as pd

        X = pd.DataFrame(X, columns=names)
    max_time = model.max_time
    model.max_time = budget.part().max_time
    try:
        model._fit_locally(X, y, weight)
    finally:
        model.max_time = max_time


@with_callbacks
def _fit_there(
    model: Any,
    gathered: Gathered,
    given: tuple[Any, Any, Any],
    names: list[Any] | None,
    settings: Settings,
    budget: Budget,
) -> None:
    """Train the model on the workers. Sets: the fitted attributes, the partitions."""
    if model.warm_start:
        raise ValueError("warm_start must be False for collections of more than 20,000 rows")
    placing.refuse_gpu(model.device, "collections of more than 20,000 rows")
    formulation, census = model._formulation(), Census.merged(gathered.censuses)
    data_checks.check_weights(census.weights)
    kernel = kernel_for(model, census, names)
    classes = Classes.of(model, census, formulation) if model._targets == "labels" else None
    none = no_rows(census, kernel, formulation)
    form = Form(none, None if classes is None else classes.labels)
    with _in_time(settings):
        stations = stations_of(gathered, form, budget.look_at_end)
    blocks = StationBlocks(stations)
    try:
        if model.max_memory is not None or model.cache_size is not None:
            _check_memory(settings.max_memory, stations.most_rows, census.columns)
        with _in_time(settings):
            longest = max(blocks.ask(_largest_square, budget.look_at_end))
        seen: dict[str, Any] = {"n_features_in_": census.columns}
        if names is not None and all(isinstance(name, str) for name in names):
            seen["feature_names_in_"] = as_names(names)
        task = Task(
            blocks=blocks,
            recipe=Recipe(
                kernel, formulation, longest, None if classes is None else classes.weight
            ),
            none=none,
            classes=0 if classes is None else len(classes.weight),
            threads=settings.threads,
            room=max(_LEAST_TILE, int(np.sqrt(settings.max_memory / _BYTES_OF_TILE))),
            runner=DaskRunner(stations, budget.look_at_end),
        )
        observers = partial(_TrafficObservers, traffic=stations.traffic)
        fit = BlockFit(
            given,
            census,
            seen,
            settings,
            formulation,
            budget,
            classes,
            observers,
            partial(_among_members, task=task, total=census.weights.total),
        )
        with noticed(stations.stop):
            fit.train(model, task)
    finally:
        blocks.close()


def _check_memory(limit: int, rows: int, columns: int) -> None:
    """Raise ValueError if the worker with the most rows needs more than the limit."""
    need = _BYTES_OF_ROW * rows + min(_BYTES_OF_SCAN, 8 * rows * columns)
    if need > limit:
        raise ValueError(
            f"max_memory={limit:,} bytes is too small: a worker with {rows:,} rows of {columns:,} "
            f"columns needs at least {need:,} bytes beside them; raise max_memory (or cache_size), "
            "use more workers, or leave both at None"
        )


def _largest_square(block: Block) -> float:
    """Return the largest |x|^2 of a row of a block, relative to the centre."""
    return block.rows.largest_square(1)


def _among_members(supports: Supports, *, task: Task, total: float) -> Supports:
    """Divide coefficients among equal rows.

    If the stations do not answer, the first of equal rows keeps the coefficients of all, which is
    the same model.
    """
    recipe = task.recipe
    try:
        found = task.blocks.ask(partial(members, origin=supports.origin), Budget(_WAIT).look_at_end)
    except (OutOfBudget, KeyboardInterrupt):
        return supports

    def box(code: Ints, weight: Floats) -> Floats:
        factor = 1.0 if recipe.class_weight is None else recipe.class_weight[code]
        return recipe.formulation.box(factor * weight, total)

    return spread(supports, found, box, proportional=recipe.formulation.proportional)


class _TrafficObservers(Observers):
    """Observers that note in every record what has travelled until then."""

    def __init__(self, *given: Any, traffic: Traffic) -> None:
        super().__init__(*given)
        self._traffic = traffic

    @contextmanager
    def problem(self, number: int = 0) -> Iterator[Observer]:
        """Solve one problem within the block. Sets: notes of the records."""
        with super().problem(number) as observe:

            def look(record: TraceRecord) -> None:
                record.notes.update(vars(self._traffic))
                observe(record)

            yield look
