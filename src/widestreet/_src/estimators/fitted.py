"""Construction of the fitted attributes of all estimators."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from widestreet._src.arrays import Codes, Floats, Ints
from widestreet._src.certificate import Certificate, worst
from widestreet._src.engines.solution import Trace, TraceRecord
from widestreet._src.kernels.kernels import Callable, Kernel, Linear, Precomputed
from widestreet._src.problems.class_pairs import PairLayout
from widestreet._src.problems.formulations import Reading


def fitted_attributes(
    *,
    kernel: Kernel,
    X: Any,
    centre: Floats | None,
    coef: Floats,
    support: Ints,
    index: Ints | None,
    intercept: Floats,
    n_support: Ints,
    scale: float,
    records: Iterable[TraceRecord],
    kernel_values: int,
    steps: Any,
    certificates: Sequence[Certificate] | None,
) -> dict[str, Any]:
    """Return the fitted attributes by name.

    Parameters
    ----------
    kernel : Kernel
    X : ndarray or CSR
        All training rows; the kernel matrix for kernel="precomputed".
    centre : ndarray or None
        Point that was subtracted from the rows in training. For predictions with a translation
        invariant kernel it is the mean of the support vectors.
    coef : ndarray of shape (lines, len(support))
        Lines of `dual_coef_`.
    support : ndarray
        Indices of the support vectors, class by class.
    index : ndarray or None
        Index of each row for users; None for its position.
    intercept : ndarray
        Intercepts for rows relative to `centre`.
    n_support : ndarray
        Number of support vectors of each class.
    scale : float
        Parameter that the coefficients are proportional to, for warm starts.
    records : iterable of TraceRecord
    kernel_values : int
    steps : int or ndarray
    certificates : sequence of Certificate or None
        Certificate of each problem; None if they are computed on first access.
    """
    number = support if index is None else index[support]
    vectors = np.empty((0, 0)) if isinstance(kernel, Precomputed) else X[support]
    lines: Any = np.ascontiguousarray(coef)
    if isinstance(kernel, Linear) and centre is not None:
        # With w the sum of coefficients times vectors, w.(x - centre) + b = w.x + (b - w.centre).
        weights = PairLayout(len(n_support)).linear_weights(lines, vectors - centre, n_support)
        intercept = np.asarray(intercept - weights @ centre)
    if kernel.translation_invariant and isinstance(vectors, np.ndarray) and len(vectors):
        # Predictions depend on the support vectors only, wherever these were read from.
        centre = np.asarray(vectors.mean(axis=0, dtype=np.float64))
    if sparse.issparse(X) and not isinstance(kernel, Callable):
        lines = sparse.csr_matrix(lines)
    found = {
        "_kernel": kernel,
        "_gamma": getattr(kernel, "gamma", 0.0),
        "_centre": centre,
        "_scale": scale,
        "support_": number.astype(np.int64 if number.max(initial=0) >= 2**31 else np.int32),
        "support_vectors_": vectors,
        "n_support_": n_support.astype(np.int32),
        "dual_coef_": lines,
        "intercept_": intercept,
        "trace_": Trace(records),
        "n_kernel_values_": kernel_values,
        "n_iter_": steps,
        "fit_status_": 0,
        "shape_fit_": X.shape,
    }
    if certificates is not None:
        found["certificates_"] = list(certificates)
        found["certificate_"] = worst(certificates)
        found["fit_status_"] = int(not worst(certificates).status.success)
    return found


def classifier_attributes(
    *,
    X: Any,
    code: Codes,
    lines: Floats,
    readings: Sequence[Reading],
    index: Ints | None,
    classes: Any,
    class_weight: Floats,
    **shared: Any,
) -> dict[str, Any]:
    """Return the fitted attributes of a classifier: coefficients divided by margins, by class.

    Parameters
    ----------
    X : ndarray or CSR
        All training rows.
    code : ndarray
        Class index of each row.
    lines : ndarray of shape (lines, n)
        Lines of `dual_coef_`, before they are divided by the margin.
    readings : sequence of Reading
        Intercept and margin of each pair.
    index : ndarray or None
        Index of each row for users; None for its position.
    classes, class_weight : ndarray
    **shared
        Further arguments of `fitted_attributes`.
    """
    layout = PairLayout(len(classes))
    rho = np.array([reading.divisor for reading in readings])
    bias = np.array([reading.intercept for reading in readings])
    support = np.flatnonzero(lines[0] != 0 if len(lines) == 1 else lines.any(axis=0))
    if index is not None:
        support = support[np.argsort(index[support], kind="stable")]
    few = code[support].astype(np.int16 if layout.classes < 2**15 else np.int64)  # a radix sort
    support = support[np.argsort(few, kind="stable")]
    coef = lines[:, support] / layout.by_line_and_class(rho)[:, code[support]]
    fitted = fitted_attributes(
        X=X,
        coef=coef,
        support=support,
        index=index,
        intercept=bias / rho,
        n_support=np.bincount(code[support], minlength=layout.classes),
        **shared,
    )
    return fitted | {"_rho": rho, "classes_": classes, "class_weight_": class_weight}


def single_attributes(
    *, X: Any, coef: Floats, reading: Reading, index: Ints | None, **shared: Any
) -> dict[str, Any]:
    """Return the fitted attributes of a model of one problem.

    Parameters
    ----------
    X : ndarray or CSR
        All training rows.
    coef : ndarray of shape (1, n)
    reading : Reading
    index : ndarray or None
        Index of each row for users; None for its position.
    **shared
        Further arguments of `fitted_attributes`.
    """
    support = np.flatnonzero(coef[0])
    if index is not None:
        support = support[np.argsort(index[support], kind="stable")]
    fitted = fitted_attributes(
        X=X,
        coef=coef[:, support],
        support=support,
        index=index,
        intercept=np.array([reading.intercept]),
        n_support=np.array([len(support)]),
        **shared,
    )
    return fitted | dict(reading.attributes)
