"""Encoders of text as ONNX: one-hot encoders with missing, rare and new values.

A one-hot encoder adds up one vector per column, which depends on the value of this column only.
The graph looks up these vectors. They are found by transforming rows, one per value.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import OneHotEncoder

from widestreet._src.interchange.onnx_graph import Nodes

_NEW = "\x00 no category"  # a value that no column has
_MISSING = ("nan", "")  # what onnxruntime makes of NaN, and what programs in other languages pass


def converters(graph: Callable[[Any, Any], Nodes]) -> dict[str, dict[type, Any]]:
    """Return arguments of ``skl2onnx.convert_sklearn`` that replace its one-hot encoder.

    Parameters
    ----------
    graph : callable
        Makes the graph of a scope and a container of skl2onnx.
    """
    return {
        "custom_conversion_functions": {OneHotEncoder: partial(_convert, graph)},
        "custom_shape_calculators": {OneHotEncoder: _set_type},
    }


def vectors_of(encoder: Any) -> list[tuple[list[str], list[int], NDArray[np.float32]]]:
    """Return the vectors whose sum over the columns is what an encoder makes of a row.

    Returns
    -------
    list of (keys, places, vectors)
        For every column: values as text, for each of them its place in `vectors`, and the vectors.
        If the encoder accepts new values, the vector after those of the categories is theirs.
        The empty text is a missing value, unless it is a category.
    """
    first = np.array([known[0] for known in encoder.categories_], dtype=object)
    base = _transformed(encoder, first[None, :])
    found = []
    for column, known in enumerate(encoder.categories_):
        accepted = [] if encoder.handle_unknown == "error" else [_NEW]
        rows = np.repeat(first[None, :], len(known) + len(accepted), axis=0)
        rows[:, column] = [*known, *accepted]
        vectors = _transformed(encoder, rows) - (base if column else 0.0)
        places = {str(value): place for place, value in enumerate(known) if value == value}
        for place, value in enumerate(known):
            if value is None or value != value:
                places = dict.fromkeys((*_MISSING, str(value)), place) | places
        found.append(([*places], [*places.values()], vectors.astype(np.float32)))
    return found


def _transformed(encoder: Any, rows: NDArray[Any]) -> NDArray[Any]:
    """Return what an encoder makes of rows, as an array."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of names of columns, and of new values
        made = encoder.transform(rows)
    return np.asarray(made.toarray() if hasattr(made, "toarray") else made)


def _is_text(operator: Any) -> bool:
    """Return whether all inputs of an operator are text."""
    from skl2onnx.common.data_types import StringTensorType

    return all(isinstance(one.type, StringTensorType) for one in operator.inputs)


def _set_type(operator: Any) -> None:
    """State the type of the output of an encoder. Sets: operator."""
    from skl2onnx.common._registration import get_shape_calculator
    from skl2onnx.common.data_types import FloatTensorType

    if not _is_text(operator):
        get_shape_calculator("SklearnOneHotEncoder")(operator)
        return
    width = len(operator.raw_operator.get_feature_names_out())
    operator.outputs[0].type = FloatTensorType([operator.inputs[0].get_first_dimension(), width])


def _convert(graph: Callable[[Any, Any], Nodes], scope: Any, operator: Any, container: Any) -> None:
    """Add the nodes of an encoder to the graph of skl2onnx. Sets: container."""
    from skl2onnx.common._registration import get_converter

    if not _is_text(operator):
        get_converter("SklearnOneHotEncoder")(scope, operator, container)
        return
    g = graph(scope, container)
    columns = [
        g.node("Gather", one.full_name, g.constant(np.array(k)), axis=1)
        for one in operator.inputs
        for k in range(one.type.shape[1])
    ]
    total = None
    for column, (keys, places, vectors) in zip(
        columns, vectors_of(operator.raw_operator), strict=True
    ):
        new = len(vectors) - (operator.raw_operator.handle_unknown != "error")
        place = scope.get_unique_variable_name("place")
        container.add_node(
            "LabelEncoder", [column], [place], op_domain="ai.onnx.ml", op_version=2,
            keys_strings=keys, values_int64s=places, default_int64=new,
        )  # fmt: skip
        own = g.node("Gather", g.constant(vectors), place, axis=0)
        total = own if total is None else g.node("Add", total, own)
    container.add_node("Identity", [total], [operator.outputs[0].full_name])
