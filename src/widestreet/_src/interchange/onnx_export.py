"""Fitted models as ONNX."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from widestreet._src import checks
from widestreet._src.estimators.contained import svm_of
from widestreet._src.interchange.onnx_graph import add_model, check_exportable
from widestreet._src.interchange.onnx_pipelines import pipeline_to_onnx

OPSET, IR_VERSION = 18, 9  # of 2022; later runtimes read them
_PRECISIONS = {"float64": np.float64, "float32": np.float32}


def to_onnx(model: Any, *, precision: str = "float64") -> Any:
    """Return a fitted model as an ONNX model, which predicts without this package.

    Parameters
    ----------
    model : estimator or sklearn.pipeline.Pipeline
        A fitted estimator of this package, or a pipeline that ends with one, for which skl2onnx
        must be installed.
    precision : {"float64", "float32"}, default="float64"
        Type of the input and of all numbers. "float32" makes the model half as large; decision
        values then have an error of about 1e-6 times the sum of the absolute coefficients. In a
        pipeline only the input and the other steps are float32.

    Returns
    -------
    onnx.ModelProto
        Model with the input "X" of shape (n, features); for a pipeline that selects columns by
        name, one input of shape (n, 1) per column, of text where an encoder takes text.
        Classifiers and one-class SVMs have the outputs "label" and "scores", which are those of
        `predict` and `decision_function`;
        regressors have the output "value". Support vectors are dense. For kernel="precomputed", X
        are the kernel values between the rows and all training rows.

    Raises
    ------
    ImportError
        If the package onnx is missing.
    TypeError
        If the kernel is a Python function, or the model is of another package.
    ValueError
        If a step of the pipeline cannot be converted: an imputer of text, or an imputer of numbers
        with precision="float64".

    Notes
    -----
    The model has only operators of the standard domain of opset 18. In a pipeline, the other steps
    are those of skl2onnx.

    Examples
    --------
    >>> import numpy as np
    >>> import onnx.reference
    >>> import widestreet as ws
    >>> from widestreet.datasets import twonorm
    >>> X, y = twonorm(200, random_state=0)
    >>> model = ws.SVC().fit(X, y)
    >>> evaluator = onnx.reference.ReferenceEvaluator(ws.io.to_onnx(model))
    >>> label, scores = evaluator.run(None, {"X": X})
    >>> bool((label == model.predict(X)).all())
    True
    >>> bool(np.abs(scores - model.decision_function(X)).max() < 1e-12)
    True
    """
    onnx = _imported(model)
    dtype = _PRECISIONS[checks.require_choice("precision", precision, tuple(_PRECISIONS))]
    if isinstance(model, Pipeline):
        return pipeline_to_onnx(model, dtype, OPSET)
    model = svm_of(model)
    check_exportable(model)
    g = Graph(onnx, dtype)
    outputs = add_model(g, "X", model)
    names = ["label", "scores"] if len(outputs) == 2 else ["value"]
    for name, output in zip(names, outputs, strict=True):
        g.nodes.append(onnx.helper.make_node("Identity", [output], [name]))
    kind = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    info = onnx.helper.make_tensor_value_info
    ends = [info("label", _type_of_labels(onnx, model), ["n"])] if len(names) == 2 else []
    shape = ["n"] if _one_score(model) else ["n", None]
    graph = onnx.helper.make_graph(
        g.nodes,
        type(model).__name__,
        [info("X", kind, ["n", model.n_features_in_])],
        [*ends, info(names[-1], kind, shape)],
        g.constants,
    )
    import widestreet

    made = onnx.helper.make_model(
        graph,
        opset_imports=[onnx.helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="widestreet",
        producer_version=widestreet.__version__,
    )
    onnx.checker.check_model(made)
    return made


def _imported(model: Any) -> ModuleType:
    """Return the package onnx, or raise ImportError that says how to install what a model needs."""
    try:
        import onnx
        import onnx.checker
        import onnx.helper
        import onnx.numpy_helper
    except ImportError as error:
        more = " skl2onnx" if isinstance(model, Pipeline) else ""
        raise ImportError(
            f'to_onnx needs packages that are missing: pip install "widestreet[onnx]"{more}'
        ) from error
    return onnx


def _one_score(model: Any) -> bool:
    """Return whether a model has one score per row."""
    return len(getattr(model, "classes_", ())) <= 2


def _type_of_labels(onnx: ModuleType, model: Any) -> Any:
    """Return the ONNX type of labels."""
    kinds = {"f": onnx.TensorProto.DOUBLE, "b": onnx.TensorProto.BOOL}
    kinds |= dict.fromkeys("OUS", onnx.TensorProto.STRING)
    kind = np.asarray(getattr(model, "classes_", np.zeros(1, dtype=np.int64))).dtype.kind
    return kinds.get(kind, onnx.TensorProto.INT64)


class Graph:
    """Nodes and constants of an ONNX graph.

    Parameters
    ----------
    onnx : module
    dtype : type
        Type of the numbers of the graph.
    inputs : list
        Inputs of a subgraph, with their shapes.
    prefix : str
        Prefix of all names in the subgraph.
    """

    def __init__(
        self, onnx: ModuleType, dtype: Any, inputs: list[Any] | None = None, prefix: str = ""
    ) -> None:
        self._onnx, self.dtype, self._inputs, self._prefix = onnx, dtype, inputs or [], prefix
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self._count = 0

    def _name(self, kind: str) -> str:
        self._count += 1
        return f"{self._prefix}{kind}_{self._count}"

    def constant(self, value: NDArray[Any]) -> str:
        """Add a constant and return its name."""
        name = self._name("constant")
        self.constants.append(self._onnx.numpy_helper.from_array(np.asarray(value), name))
        return name

    def node(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """Add a node and return the name of its output."""
        if kind == "Cast":
            to = np.dtype(attributes["to"])
            attributes["to"] = self._onnx.helper.np_dtype_to_tensor_dtype(to)
        name = self._name(kind)
        self.nodes.append(self._onnx.helper.make_node(kind, inputs, [name], name, **attributes))
        return name

    def subgraph(self, inputs: list[tuple[str, list[int | None]]]) -> Graph:
        """Return an empty graph for the body of a node, with these inputs."""
        return Graph(self._onnx, self.dtype, inputs, f"{self._name('body')}_")

    def finished(self, outputs: list[str]) -> Any:
        """Return the graph of the body of a node."""
        helper = self._onnx.helper
        kind = helper.np_dtype_to_tensor_dtype(np.dtype(self.dtype))
        begin = [helper.make_tensor_value_info(name, kind, shape) for name, shape in self._inputs]
        end = [helper.make_tensor_value_info(name, kind, None) for name in outputs]
        return helper.make_graph(self.nodes, self._prefix, begin, end, self.constants)
