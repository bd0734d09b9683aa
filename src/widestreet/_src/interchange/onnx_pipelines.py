"""Pipelines as ONNX: converters of this package's estimators for skl2onnx."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline

from widestreet._src.estimators.classifier import Classifier
from widestreet._src.estimators.contained import svm_of
from widestreet._src.estimators.outlier_detector import OutlierDetector
from widestreet._src.estimators.registry import ESTIMATORS
from widestreet._src.interchange.onnx_graph import add_model, check_exportable
from widestreet._src.interchange.onnx_text import converters


def register_skl2onnx() -> None:
    """Register converters for the estimators of this package with skl2onnx.

    `to_onnx` calls this by itself. Call it before ``skl2onnx.to_onnx``, for example for a pipeline
    with columns of several types. Estimators are computed in float64; classifiers and one-class
    SVMs have the outputs "label" and "scores".

    Raises
    ------
    ImportError
        If the package skl2onnx is missing.

    Examples
    --------
    >>> import numpy as np
    >>> import skl2onnx
    >>> import widestreet as ws
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> X, y = ws.datasets.twonorm(200, random_state=0)
    >>> model = make_pipeline(StandardScaler(), ws.SVC()).fit(X, y)
    >>> ws.io.register_skl2onnx()
    >>> made = skl2onnx.to_onnx(model, X[:1], target_opset=18)
    >>> [output.name for output in made.graph.output]
    ['label', 'scores']
    """
    skl2onnx = _imported()
    options = {"zipmap": [False], "raw_scores": [True]}
    for name, kind in ESTIMATORS.items():
        own = options if issubclass(kind, ClassifierMixin) else None
        skl2onnx.update_registered_converter(
            kind, f"Widestreet{name}", _set_types, _convert, parser=_declare, options=own
        )


def pipeline_to_onnx(model: Any, dtype: Any, opset: int) -> Any:
    """Return a fitted pipeline as an ONNX model with the input "X" of a given type.

    If a ColumnTransformer selects columns by name, every column is an input of its name instead, of
    shape (n, 1).

    Raises ValueError if skl2onnx cannot convert a step, or onnxruntime cannot run the result.
    """
    skl2onnx = _imported()
    check_exportable(svm_of(model[-1]))
    register_skl2onnx()
    from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType, StringTensorType

    kind = DoubleTensorType if dtype is np.float64 else FloatTensorType
    begin = _inputs(model, kind, StringTensorType)
    try:
        made = skl2onnx.convert_sklearn(
            model, initial_types=begin, target_opset=opset, **converters(_Nodes)
        )
    except (RuntimeError, NotImplementedError) as error:
        reason = str(error).strip().partition("\n")[0].rstrip(".")
        raise ValueError(
            f"skl2onnx cannot convert the pipeline ({reason}): it converts imputers and scalers of "
            "numbers and, in a ColumnTransformer that selects columns by name, encoders of text "
            "without an imputer (OneHotEncoder gives missing values a column of their own)"
        ) from error
    if dtype is np.float64 and any(node.op_type == "Imputer" for node in made.graph.node):
        raise ValueError(
            "the pipeline has an imputer, which onnxruntime computes in float32 only: pass "
            'precision="float32"'
        )
    return made


def _inputs(model: Any, number: Any, text: Any) -> list[tuple[str, Any]]:
    """Return the names and the types of the inputs, given the types of numbers and of text."""
    first = model[0]
    parts = first.transformers_ if isinstance(first, ColumnTransformer) else []
    if not any(isinstance(column, str) for _, _, columns in parts for column in columns):
        return [("X", number([None, model.n_features_in_]))]
    textual = {column for _, part, columns in parts for column in _text_columns(part, columns)}
    names = model.feature_names_in_
    return [(name, (text if name in textual else number)([None, 1])) for name in names]


def _text_columns(transformer: Any, columns: Any) -> Iterator[str]:
    """Yield the columns that the encoder of a transformer takes as text."""
    for step in transformer if isinstance(transformer, Pipeline) else [transformer]:
        for column, known in zip(columns, getattr(step, "categories_", ()), strict=False):
            if known.dtype.kind in "OUS":
                yield column


def _imported() -> Any:
    """Return the package skl2onnx."""
    try:
        import skl2onnx
    except ImportError as error:
        raise ImportError("pipelines need the package skl2onnx: pip install skl2onnx") from error
    return skl2onnx


def _declare(scope: Any, model: Any, inputs: Any, custom_parsers: Any = None) -> Any:
    """Declare the operator of a model and its outputs."""
    from skl2onnx.common.data_types import DoubleTensorType, Int64TensorType

    kinds = [kind.__name__ for kind in type(model).__mro__ if kind.__name__ in ESTIMATORS]
    operator = scope.declare_local_operator(f"Widestreet{kinds[0]}", model)
    operator.inputs = inputs
    if isinstance(svm_of(model), Classifier | OutlierDetector):
        operator.outputs.append(scope.declare_local_variable("label", Int64TensorType()))
        operator.outputs.append(scope.declare_local_variable("scores", DoubleTensorType()))
    else:
        operator.outputs.append(scope.declare_local_variable("value", DoubleTensorType()))
    return operator.outputs


def _set_types(operator: Any) -> None:
    """State the types of the outputs of an operator. Sets: operator."""
    from skl2onnx.common import data_types as types

    model, rows = svm_of(operator.raw_operator), operator.inputs[0].get_first_dimension()
    columns = len(getattr(model, "intercept_", ()))
    if isinstance(model, Classifier):
        kinds = {"f": types.DoubleTensorType, "b": types.BooleanTensorType}
        kinds |= dict.fromkeys("OUS", types.StringTensorType)
        label = kinds.get(np.asarray(model.classes_).dtype.kind, types.Int64TensorType)
        operator.outputs[0].type = label([rows])
        if model._values_per_class():
            columns = len(model.classes_)
    elif isinstance(model, OutlierDetector):
        operator.outputs[0].type = types.Int64TensorType([rows])
    one = len(getattr(model, "classes_", ())) <= 2
    operator.outputs[-1].type = types.DoubleTensorType([rows] if one else [rows, columns])


def _convert(scope: Any, operator: Any, container: Any) -> None:
    """Add the nodes of a model to the graph of skl2onnx. Sets: container."""
    from skl2onnx.common.utils import check_input_and_output_numbers

    model = svm_of(operator.raw_operator)
    check_exportable(model)
    check_input_and_output_numbers(operator, input_count_range=1)
    g = _Nodes(scope, container)
    X = g.node("Cast", operator.inputs[0].full_name, to=np.float64)
    for output, found in zip(operator.outputs, add_model(g, X, model), strict=True):
        container.add_node("Identity", [found], [output.full_name])


class _Nodes:
    """Nodes in a container of skl2onnx."""

    dtype = np.float64

    def __init__(self, scope: Any, container: Any) -> None:
        self._scope, self._container = scope, container

    def constant(self, value: NDArray[Any]) -> str:
        """Add a constant and return its name."""
        from onnx import numpy_helper

        name: str = self._scope.get_unique_variable_name("constant")
        made = numpy_helper.from_array(np.asarray(value), name)
        self._container.initializers.append(made)
        return name

    def node(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """Add a node and return the name of its output."""
        from onnx.helper import np_dtype_to_tensor_dtype

        if kind == "Cast":
            attributes["to"] = np_dtype_to_tensor_dtype(np.dtype(attributes["to"]))
        name: str = self._scope.get_unique_variable_name(kind)
        version = self._container.target_opset
        self._container.add_node(kind, list(inputs), [name], op_version=version, **attributes)
        return name

    def subgraph(self, inputs: list[tuple[str, list[int | None]]]) -> Any:
        """Return an empty graph for the body of a node, with these inputs."""
        import onnx

        from widestreet._src.interchange.onnx_export import Graph

        prefix = self._scope.get_unique_variable_name("body")
        return Graph(onnx, self.dtype, inputs, f"{prefix}_")
