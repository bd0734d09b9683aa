"""Scores of new rows. What depends on the model only is prepared once and kept.

A linear kernel needs the weights of the features only. Other native kernels of dense vectors keep
the packed vectors, so that the score of one row costs no more than its kernel values. All else is
left to the `Gram`.

Prepared models are kept beside the estimators, not in them: they are not pickled, and predictions
change no attribute. Threads that predict at the same time may prepare a model twice; the last one
is kept. The arrays of a prepared model are read-only: a change in place would not be noticed, while
a new array is.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from scipy import sparse

from widestreet._src.arrays import Floats, Ints
from widestreet._src.device.contract import Device
from widestreet._src.device.lent import LentArray
from widestreet._src.estimators import placing
from widestreet._src.kernels.accurate_combination import combination
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.kernels import Kernel, Linear, NativeKernel, Precomputed
from widestreet._src.kernels.packed import PackedRows
from widestreet._src.kernels.rounding_bounds import UNIT
from widestreet._src.problems.class_pairs import PairLayout
from widestreet._src.rows import KernelRows, Rows, Vectors, as_rows
from widestreet._src.rows.dense import DenseRows
from widestreet._src.threads import resolve_threads

_UNITS = 8  # of rounding of the coefficients: weights below are not known
_LARGEST_WEIGHTS = 1 << 26  # bytes of the weights of a linear kernel

_prepared: WeakKeyDictionary[Any, Expansion] = WeakKeyDictionary()


def expansion_of(model: Any) -> Expansion:
    """Return the prepared expansion of a fitted model. Sets: it, if the model has changed."""
    found = _prepared.get(model)
    if found is None or not found.describes(model):
        check_shapes("model", model)
        found = _prepared[model] = Expansion(
            model._kernel,
            model.support_vectors_,
            model.support_,
            model.dual_coef_,
            model.n_support_,
            model._centre,
        )
        for part in (model.support_vectors_, model.dual_coef_):
            _freeze(part)
    return found


def _freeze(matrix: Any) -> None:
    """Make the values of a matrix read-only, with sorted indices: SciPy sorts in place."""
    if sparse.issparse(matrix) and matrix.data.flags.writeable:
        matrix.sum_duplicates()
    for part in (
        (matrix.data, matrix.indices, matrix.indptr) if sparse.issparse(matrix) else [matrix]
    ):
        part.flags.writeable = False


def check_shapes(name: str, model: Any) -> None:
    """Raise ValueError unless the arrays of a fitted SVM have as many vectors as coefficients.

    Parameters
    ----------
    name : str
        Name of the model in error messages.
    model : object
        Fitted SVM with the attributes of scikit-learn.
    """
    lines, count = model.dual_coef_.shape
    counts = {"support_": len(model.support_), "n_support_": int(np.sum(model.n_support_))}
    if not (isinstance(model.kernel, str) and model.kernel == "precomputed"):
        counts["support_vectors_"] = model.support_vectors_.shape[0]
    for attribute, number in counts.items():
        if number != count:
            raise ValueError(
                f"{name}: dual_coef_ has the coefficients of {count} support vectors, but "
                f"{attribute} says {number}: fit it again, or set all of its arrays"
            )
    if lines != PairLayout(len(model.n_support_)).lines:
        raise ValueError(
            f"{name}: dual_coef_ has {lines} rows, but n_support_ is of {len(model.n_support_)} "
            "classes: fit it again, or set all of its arrays"
        )


def gram_of(
    kernel: Kernel,
    X: Any,
    vectors: Any,
    column: Ints,
    centre: Floats | None,
    n_jobs: int | None,
    device: Device | None = None,
) -> Gram:
    """Return the kernel values between validated rows and vectors.

    Parameters
    ----------
    kernel : Kernel
    X : ndarray or CSR
    vectors : ndarray, CSR or Vectors
    column : ndarray
        Indices of the vectors among the training rows, for a precomputed kernel.
    centre : ndarray or None
        Point that is subtracted from dense rows.
    n_jobs : int or None
    device : Device, optional
        Device that computes scans.
    """
    if isinstance(kernel, Precomputed):
        left: Rows = KernelRows(X, np.arange(X.shape[0]))
        right: Rows = KernelRows(X, column.astype(np.int64))
    else:
        # Sparse rows are not centred, so the vectors must not be centred either.
        centre = None if sparse.issparse(X) else centre
        linear = isinstance(kernel, Linear)  # its intercept is for uncentred rows
        left = as_rows(X, centre=None if linear else centre)
        right = vectors if hasattr(vectors, "native") else as_rows(vectors, centre=centre)
        if device is not None:
            left, right = placing.on(device, left), placing.on(device, right)
    return Gram(kernel, left, right, threads=resolve_threads(n_jobs))


@dataclass(frozen=True, eq=False)
class Expansion:
    """Decision function of a fitted model, without intercepts.

    Attributes
    ----------
    kernel : Kernel
    vectors : ndarray or CSR
        Support vectors.
    column : ndarray
        Their indices among the training rows.
    dual_coef : ndarray or CSR of shape (lines, n_SV)
    n_support : ndarray
        Number of support vectors of each class.
    centre : ndarray or None
        Point that is subtracted from dense rows.
    """

    kernel: Kernel
    vectors: Any
    column: Ints
    dual_coef: Any
    n_support: Ints
    centre: Floats | None

    def describes(self, model: Any) -> bool:
        """Return whether the attributes of a model are still those of this expansion."""
        return (
            self.vectors is model.support_vectors_
            and self.dual_coef is model.dual_coef_
            and self.kernel is model._kernel
            and self.n_support is model.n_support_
            and self.column is model.support_
            and self.centre is model._centre
        )

    @cached_property
    def layout(self) -> PairLayout:
        """Layout of the pairs of classes; one class for models without classes."""
        return PairLayout(len(self.n_support))

    @cached_property
    def coef(self) -> Floats:
        """Coefficients as an array."""
        return dense_coef(self.dual_coef)

    @cached_property
    def ends(self) -> list[int]:
        """Zero, and the end of each part of the vectors that has sums of its own."""
        inner = np.cumsum(self.n_support)[:-1].tolist() if self.layout.classes > 2 else []
        return [0, *inner, self.coef.shape[1]]

    @cached_property
    def weights(self) -> Any:
        """Weights of the features for each pair, for a linear kernel.

        If all weights of a pair may be due to the rounding of the coefficients, they are zero.
        """
        vectors, coef, n_support = self.vectors, self.dual_coef, self.n_support
        size = self.layout.linear_weights(abs(coef), abs(vectors), n_support)
        if sparse.issparse(vectors) or sparse.issparse(coef):
            weights = self.layout.linear_weights(coef, vectors, n_support)
            known = (abs(weights) > _UNITS * UNIT * size).sum(axis=1) > 0
            weights = weights.multiply(np.reshape(known, (-1, 1))).tocsr()
            weights.eliminate_zeros()
            weights.data.flags.writeable = False
            return weights
        lines = self.layout.coefficients(coef, n_support)
        weights = np.array([combination(DenseRows(vectors), None, line) for line in lines])
        weights[~(np.abs(weights) > _UNITS * UNIT * size).any(axis=1)] = 0.0
        weights.flags.writeable = False
        return weights

    @cached_property
    def _weight_rows(self) -> Vectors | None:
        """Dense weights as rows; None if the kernel is not linear or they would be large."""
        pairs = len(self.layout.pairs) or 1
        if not isinstance(self.kernel, Linear) or not np.prod(self.vectors.shape):
            return None
        if 8 * pairs * self.vectors.shape[1] > _LARGEST_WEIGHTS:
            return None
        return DenseRows(np.ascontiguousarray(dense_coef(self.weights), dtype=np.float64))

    @cached_property
    def packed(self) -> PackedRows | None:
        """Packed vectors for dense rows; None if they are sparse, large or not used."""
        dense = isinstance(self.vectors, np.ndarray) and len(self.vectors) > 0
        kernel = self.kernel
        if not dense or not isinstance(kernel, NativeKernel) or isinstance(kernel, Linear):
            return None
        rows = DenseRows(self.vectors, self.centre)
        if not PackedRows.fit_memory(rows):
            return None
        return PackedRows(kernel, rows, self.ends, threads=1)

    def scorer(self, X: Any, n_jobs: int | None, device: str = "cpu") -> Scorer:
        """Return a function that computes the scores of validated rows."""
        found = X.device if isinstance(X, LentArray) else None
        if found is None and isinstance(self.kernel, NativeKernel) and self._weight_rows is None:
            found = placing.of_prediction(device, X.shape[0] * self.coef.shape[1])
        return Scorer(self, X, n_jobs, found)


class Scorer:
    """Scores of rows: sums of coefficient times kernel value over the support vectors.

    Parameters
    ----------
    expansion : Expansion
    X : ndarray, CSR or LentArray
        Validated rows.
    n_jobs : int or None
    device : Device, optional
    """

    def __init__(
        self, expansion: Expansion, X: Any, n_jobs: int | None, device: Device | None = None
    ) -> None:
        self._expansion, self._X, self._n_jobs, self._device = expansion, X, n_jobs, device

    def __call__(self, rows: Ints | None = None) -> Floats:
        """Return the scores of some rows, or of all, of shape (pairs, n)."""
        scores = self._scores(rows)
        if not np.isfinite(scores).all():
            raise ValueError(
                "X contains values so large that kernel values overflow: scale the features as for "
                "training"
            )
        return scores

    @cached_property
    def _gram(self) -> Gram:
        model = self._expansion
        known = model._weight_rows
        right = model.vectors if known is None else known
        return gram_of(
            model.kernel, self._X, right, model.column, model.centre, self._n_jobs, self._device
        )

    def _scores(self, rows: Ints | None) -> Floats:
        model = self._expansion
        if model._weight_rows is not None and self._device is not None:
            return self._gram.scan(rows, None, np.eye(model._weight_rows.shape[0]))
        if model._weight_rows is not None:
            return np.asarray(self._gram.block(rows).T, dtype=np.float64)
        parts = self._few(rows)
        if parts is None:
            support = np.arange(model.coef.shape[1])
            scans = [
                self._gram.scan(rows, support[a:b], model.coef[:, a:b], near=True)
                for a, b in pairwise(model.ends)
            ]
            parts = np.array(scans)
        return parts[0] if model.layout.classes <= 2 else model.layout.sums(parts)

    def _few(self, rows: Ints | None) -> Floats | None:
        """Return the sums over each part of the support vectors, if that needs no Gram."""
        if rows is not None or not isinstance(self._X, np.ndarray) or self._device is not None:
            return None
        packed = self._expansion.packed
        if packed is None:
            return None
        return packed.scan(self._X, self._expansion.coef, resolve_threads(self._n_jobs))


def dense_coef(coef: Any) -> Floats:
    """Return coefficients as an array."""
    return np.asarray(coef.toarray() if sparse.issparse(coef) else coef)
