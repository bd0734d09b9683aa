"""Checks and parameters that depend on all rows, from a census of rows that are not in one place.

The same errors, warnings and values as from rows in memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.utils.class_weight import compute_class_weight

from widestreet._src.arrays import Floats
from widestreet._src.estimators import data_checks, parameter_checks
from widestreet._src.estimators.columns import cure_of, warn_of_scales
from widestreet._src.files.formats import Batch
from widestreet._src.files.stream import Stream
from widestreet._src.kernels.kernels import Kernel
from widestreet._src.rows.census import Census
from widestreet._src.rows.faults import Fault, first_fault
from widestreet._src.rows.labels import Labels
from widestreet._src.stacklevel import level_of_caller


def describe(fault: Fault, place: str, names: Any = None) -> str:
    """Return the message about an invalid value.

    Parameters
    ----------
    fault : Fault
    place : str
        Where its row is, such as "row 17 of train.parquet".
    names : sequence of str or None
        Names of the columns of X; their numbers by default.
    """
    if fault.what == "a missing label":
        return f"y contains a missing label (NaN or None) in {place}: remove such rows"
    if fault.what == "a negative value":
        return data_checks.negative_weight(place)
    where = place
    if fault.column is not None:
        where = f"column {fault.column if names is None else names[fault.column]!r}, {place}"
    return f"{fault.name} contains {fault.what} in {where}: {cure_of(fault.name, fault.what)}"


def checked(stream: Stream, *, labels: bool = False) -> Iterator[Batch]:
    """Yield the batches of a stream; raise ValueError that names the place of an invalid value.

    Targets and weights that are no numbers are left to the checks of rows in memory.
    """
    begin = 0
    for X, y, weight in stream.batches():
        numbers = [None if _other(values) else values for values in (y, weight)]
        fault = first_fault(X, y if labels else numbers[0], numbers[1], labels=labels)
        if fault is not None:
            raise ValueError(describe(fault, stream.place(begin + fault.row), stream.names))
        yield X, y, weight
        begin += len(X)


def _other(values: Any) -> bool:
    return values is None or values.dtype.kind not in "fiub"


def kernel_for(model: Any, census: Census, names: Any) -> Kernel:
    """Check the values of all rows, and return the kernel with its parameters.

    Parameters
    ----------
    model : KernelModel
    census : Census
    names : sequence of str or None
        Names of the columns.
    """
    if isinstance(model.kernel, str):
        data_checks.check_magnitude(census.largest)
        warn_of_scales(census.spread, names, stacklevel=level_of_caller())
    gamma = 0.0
    if parameter_checks.uses_gamma(model.kernel):
        gamma = parameter_checks.resolve_gamma(
            model.gamma, census.columns, lambda: census.weighted.variance
        )
    kernel = parameter_checks.resolve_kernel(
        model.kernel, gamma=gamma, coef0=model.coef0, degree=model.degree
    )
    data_checks.check_power(kernel, census.largest_square)
    return kernel


def classes_of(labels: Labels) -> Labels:
    """Check labels; return those classes that have a row of positive weight."""
    data_checks.check_labels(labels.classes)
    present = labels.positive > 0
    classes = labels.classes[present]
    data_checks.check_number_of_classes(classes)
    return Labels(classes, labels.count[present], labels.positive[present], labels.weight[present])


def class_weights(class_weight: Any, labels: Labels) -> Floats:
    """Return the weight of each class."""
    if class_weight is None:
        return np.ones(len(labels.classes))
    found: Floats = compute_class_weight(
        class_weight, classes=labels.classes, y=labels.classes, sample_weight=labels.weight
    )
    return found
