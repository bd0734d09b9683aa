"""The decision function of a fitted model as nodes of an ONNX graph.

Only operators of the standard domain are used. The SVM operators of the domain ai.onnx.ml compute
in float32.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from widestreet._src.arrays import Floats
from widestreet._src.estimators.classifier import Classifier
from widestreet._src.estimators.contained import FOREIGN, require_exportable
from widestreet._src.estimators.model import KernelModel
from widestreet._src.estimators.outlier_detector import BOUNDARY_ROUNDING, OutlierDetector
from widestreet._src.estimators.scoring import dense_coef
from widestreet._src.kernels.kernels import RBF, Laplacian, Linear, Poly, Precomputed, Sigmoid
from widestreet._src.problems.class_pairs import PairLayout

# Of the offset of one-class SVMs: decision values up to this are rounding errors of the graph.
_BOUNDARY_ROUNDING = {np.float64: BOUNDARY_ROUNDING, np.float32: 1e-5}


class Nodes(Protocol):
    """A graph to which nodes are added; values are known by their names."""

    dtype: Any

    def constant(self, value: NDArray[Any]) -> str:
        """Add a constant and return its name."""
        ...

    def node(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """Add a node and return the name of its output."""
        ...

    def subgraph(self, inputs: list[tuple[str, list[int | None]]]) -> Any:
        """Return an empty graph for the body of a node, with these inputs."""
        ...


def check_exportable(model: Any) -> None:
    """Raise TypeError if a model cannot be written as ONNX."""
    require_exportable(model)
    if not isinstance(model, KernelModel):
        name = type(model).__name__
        raise TypeError(f"model must be an estimator of widestreet, got {name}{FOREIGN}")
    model._check_fitted()
    known = (Linear, RBF, Poly, Sigmoid, Laplacian, Precomputed)
    if not isinstance(model._kernel, known):
        raise TypeError(f"kernel={model.kernel!r}: a Python function cannot be written as ONNX")
    if isinstance(model, Classifier) and len(model.classes_) < 2:
        raise ValueError("model: rows of one class make no classifier; add some of another class")


def add_model(g: Nodes, X: str, model: Any) -> list[str]:
    """Add the nodes of a model; return the names of its outputs.

    These are labels and decision values of classifiers and one-class SVMs, and the value of
    regressors.

    Parameters
    ----------
    g : Nodes
    X : str
        Name of the rows, of the type of the graph.
    model : KernelModel
    """
    values = _values(g, X, model)
    if isinstance(model, Classifier):
        return _classes(g, values, model)
    value = g.node("Squeeze", values, g.constant(np.array([1])))
    if not isinstance(model, OutlierDetector):
        return [value]
    rounding = _BOUNDARY_ROUNDING[g.dtype] * abs(float(model.offset_[0]))
    small = g.node("Less", g.node("Abs", value), g.constant(g.dtype(rounding)))
    value = g.node("Where", small, g.constant(g.dtype(0)), value)
    outside = g.node("Less", value, g.constant(g.dtype(0)))
    label = g.node("Where", outside, g.constant(np.array(-1)), g.constant(np.array(1)))
    return [label, value]


def _values(g: Nodes, X: str, model: Any) -> str:
    """Add the decision values of all pairs of classes, of shape (n, pairs)."""
    layout = model._layout
    if isinstance(model._kernel, Linear):
        weights = model.coef_
        weights = weights.toarray() if sparse.issparse(weights) else weights
        found = g.node("MatMul", X, g.constant(g.dtype(weights.T)))
    else:
        coef = layout.coefficients(dense_coef(model.dual_coef_), model.n_support_).T
        found = g.node("MatMul", _kernel(g, X, model), g.constant(g.dtype(coef)))
    return g.node("Add", found, g.constant(g.dtype(model.intercept_)))


# -- kernels ---------------------------------------------------------------------------------------


def _kernel(g: Nodes, X: str, model: Any) -> str:
    """Add the kernel values between rows and support vectors, of shape (n, n_SV)."""
    kernel = model._kernel
    if isinstance(kernel, Precomputed):
        return g.node("Gather", X, g.constant(model.support_.astype(np.int64)), axis=1)
    vectors = model.support_vectors_
    vectors = vectors.toarray() if sparse.issparse(vectors) else np.asarray(vectors)
    vectors = vectors.astype(np.float64)
    if isinstance(kernel, RBF | Laplacian) and len(vectors):
        centre = vectors.mean(axis=0) if model._centre is None else model._centre
        X, vectors = g.node("Sub", X, g.constant(g.dtype(centre))), vectors - centre
    if isinstance(kernel, Laplacian):
        distance = _absolute_distances(g, X, vectors)
        return g.node("Exp", g.node("Mul", distance, g.constant(g.dtype(-kernel.gamma))))
    # The factor belongs to the vectors: onnxruntime fuses a product with a number into the matrix
    # product, as a float32.
    factor = 2.0 if isinstance(kernel, RBF) else kernel.gamma
    product = g.node("MatMul", X, g.constant(g.dtype(factor * vectors.T)))
    if isinstance(kernel, RBF):
        own = g.node("ReduceSumSquare", X, g.constant(np.array([1])), keepdims=1)
        both = g.node("Add", own, g.constant(g.dtype(np.square(vectors).sum(axis=1))))
        distance = g.node("Max", g.node("Sub", both, product), g.constant(g.dtype(0)))
        return g.node("Exp", g.node("Mul", distance, g.constant(g.dtype(-kernel.gamma))))
    inner = g.node("Add", product, g.constant(g.dtype(kernel.coef0)))
    if isinstance(kernel, Poly):
        return g.node("Pow", inner, g.constant(g.dtype(kernel.degree)))
    return g.node("Tanh", inner)


def _absolute_distances(g: Nodes, X: str, vectors: Floats) -> str:
    """Add the sums of absolute differences between rows and vectors, feature by feature."""
    body = g.subgraph([("sums", [None, len(vectors)]), ("x", [None]), ("s", [len(vectors)])])
    column = body.node("Unsqueeze", "x", body.constant(np.array([1])))
    size = body.node("Abs", body.node("Sub", column, "s"))
    sums = body.node("Add", "sums", size)
    first = g.node("Gather", X, g.constant(np.array([0])), axis=1)
    zero = g.node("Sub", first, first)
    zero = g.node("Add", zero, g.constant(np.zeros(len(vectors), dtype=g.dtype)))
    rows = g.node("Transpose", X, perm=[1, 0])
    columns = g.constant(g.dtype(np.ascontiguousarray(vectors.T)))
    graph = body.finished([sums])
    return g.node("Scan", zero, rows, columns, body=graph, num_scan_inputs=2)


# -- classes ---------------------------------------------------------------------------------------


def _classes(g: Nodes, values: str, model: Any) -> list[str]:
    """Add labels and decision values of a classifier."""
    layout, classes = model._layout, g.constant(_labels(model.classes_))
    if layout.classes == 2:
        value = g.node("Squeeze", values, g.constant(np.array([1])))
        negative = g.node("Less", value, g.constant(g.dtype(0)))
        winner = g.node("Cast", g.node("Not", negative), to=np.int64)
        return [g.node("Gather", classes, winner), value]
    by_class = model._values_per_class()
    by_value = model._breaks_ties()
    scores = _one_vs_rest(g, values, layout) if by_class or by_value else values
    deciding = scores
    if not by_value:
        won = g.node("Greater", values, g.constant(g.dtype(0)))
        deciding = _votes(g, won, layout)
    winner = g.node("ArgMax", deciding, axis=1, keepdims=0)
    return [g.node("Gather", classes, winner), scores if by_class else values]


def _labels(classes: Any) -> NDArray[Any]:
    """Return labels in a type that ONNX has."""
    values = np.asarray(classes)
    if values.dtype.kind in "iu":
        return values.astype(np.int64)
    if values.dtype.kind == "f":
        return values.astype(np.float64)
    if values.dtype.kind == "b":
        return values
    return np.array([str(label) for label in values.tolist()], dtype=object)


def _votes(g: Nodes, won: str, layout: PairLayout) -> str:
    """Add the votes for each class; `won` is true where the first class of a pair has the vote."""
    first, second = _members(layout)
    mine = g.node("Cast", won, to=g.dtype)
    theirs = g.node("Sub", g.constant(g.dtype(1)), mine)
    one = g.node("MatMul", mine, g.constant(g.dtype(first)))
    return g.node("Add", one, g.node("MatMul", theirs, g.constant(g.dtype(second))))


def _one_vs_rest(g: Nodes, values: str, layout: PairLayout) -> str:
    """Add the value of each class, as `PairLayout.one_vs_rest` computes it."""
    first, second = _members(layout)
    confidence = g.node("MatMul", values, g.constant(g.dtype(first - second)))
    size = g.node("Add", g.node("Abs", confidence), g.constant(g.dtype(1)))
    bounded = g.node("Div", confidence, g.node("Mul", size, g.constant(g.dtype(3))))
    won = g.node("Not", g.node("Less", values, g.constant(g.dtype(0))))
    return g.node("Add", _votes(g, won, layout), bounded)


def _members(layout: PairLayout) -> tuple[Floats, Floats]:
    """Return which class is the first, and which the second, of each pair."""
    every = np.eye(layout.classes)
    return every[layout.first], every[layout.second]
