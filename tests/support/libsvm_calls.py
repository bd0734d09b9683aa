"""LIBSVM's own code, called through the library of its Python package.

The functions of `libsvm.svmutil` are not used for predictions: they pass a buffer for one value to
nu-SVC, which writes one for each pair of classes.
"""

from __future__ import annotations

from ctypes import c_double
from typing import Any

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from conftest import OF_THREE

TYPES = {"svc": 0, "nu_svc": 1, "one_class": 2, "svr": 3, "nu_svr": 4}
KERNELS = {
    "linear": "-t 0",
    "poly": "-t 1 -g 0.5 -r 1 -d 2",
    "rbf": "-t 2 -g 0.5",
    "sigmoid": "-t 3 -g 0.05 -r 0.1",
    "precomputed": "-t 4",
}


def train(kind: str, kernel: str, X: Any, y: Any, path: Any) -> None:
    """Train with LIBSVM and let it write the model."""
    from libsvm.svmutil import svm_problem, svm_save_model, svm_train

    own = TYPES[kind.removesuffix(OF_THREE)]
    options = f"-q -s {own} {KERNELS[kernel]} -n 0.3"
    rows = [_nodes(row, i + 1 if kernel == "precomputed" else None) for i, row in _rows(X)]
    problem = svm_problem(np.asarray(y, float).tolist(), rows, isKernel=kernel == "precomputed")
    with threadpool_limits(1, "openmp"):  # its threads wait by spinning
        svm_save_model(str(path), svm_train(problem, options))


def predict(path: Any, X: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return labels or values, and decision values, of LIBSVM's model in a file."""
    from libsvm.svm import gen_svm_nodearray, libsvm
    from libsvm.svmutil import svm_load_model

    model = svm_load_model(str(path))
    assert model is not None
    classes = model.get_nr_class()
    precomputed = model.param.kernel_type == 4
    pairs = classes * (classes - 1) // 2 if model.get_svm_type() < 2 else 1
    labels, values, buffer = [], [], (c_double * max(1, pairs))()
    with threadpool_limits(1, "openmp"):
        for i, row in _rows(X):
            nodes = _nodes(row, i + 1 if precomputed else None)
            array, _ = gen_svm_nodearray(nodes, isKernel=precomputed)
            labels.append(libsvm.svm_predict_values(model, array, buffer))
            values.append(list(buffer))
    return np.array(labels), np.array(values)


def _rows(X: Any) -> list[tuple[int, np.ndarray]]:
    return list(enumerate(X.toarray() if sparse.issparse(X) else np.asarray(X, float)))


def _nodes(row: np.ndarray, serial: int | None) -> dict[int, float]:
    found = {j + 1: float(value) for j, value in enumerate(row) if value or serial is not None}
    return found if serial is None else {0: serial} | found
