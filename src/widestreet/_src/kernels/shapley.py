"""Shapley values of the features of kernel expansions, for kernels that are products over features.

core/explain/shapley.hpp has the integral that they are. Here are its quadrature rule and the pieces
that the work is cut into, between which signals are handled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache

import numpy as np
from scipy.special import roots_legendre

from widestreet import _core
from widestreet._src.arrays import Floats
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.kernels import RBF, Laplacian
from widestreet._src.kernels.native import native_kernel
from widestreet._src.kernels.rounding_bounds import UNIT
from widestreet._src.rows import Vectors, as_rows

_CALL_COST = 2e8  # products of one native call, some tenths of a second for one thread
_ROWS_AT_ONCE = 32  # rows that the core explains with the same factors of the background
_FEWEST_VECTORS = 64  # vectors of a piece, unless there are fewer
_SECONDS_PER_PRODUCT = 2e-10  # rough time of one thread


@cache
def quadrature(features: int) -> tuple[Floats, Floats]:
    """Return nodes and weights of a Gauss-Legendre rule on [0, 1] for products of features.

    The integrand is a polynomial of degree features - 1, for which features / 2 nodes are exact.
    With many features fewer nodes suffice: each of its factors (1 - t) b + t a with a and b in
    [0, 1] is at most cosh(r) on the ellipse around [0, 1] whose parameter is exp(r), so that the
    error of q nodes is at most 32/15 cosh(r)^(features - 1) exp(-2 (q - 1) r) / (1 - exp(-2 r)) for
    any r > 0. The number of nodes is the smallest for which that is below the rounding of 1.
    """
    r = np.linspace(0.01, 5.0, 500)
    fixed = np.log(32 / 15) + (features - 1) * np.log(np.cosh(r)) - np.log1p(-np.exp(-2 * r))
    nodes = 1
    while 2 * nodes < features and np.min(fixed - 2 * (nodes - 1) * r) > np.log(UNIT):
        nodes += 1
    t, weight = roots_legendre(nodes)
    return np.asarray((1 + t) / 2), np.asarray(weight / 2)


def seconds_of(rows: int, background: int, vectors: int, features: int, threads: int) -> float:
    """Return a rough estimate of the time of `shapley_values`."""
    products = rows * background * vectors * features * len(quadrature(max(1, features))[0])
    return _SECONDS_PER_PRODUCT * products / threads


def shapley_values(
    kernel: RBF | Laplacian,
    X: Floats,
    background: Floats,
    vectors: Vectors,
    coef: Floats,
    threads: int,
    observe: Callable[[float], None],
) -> Floats:
    """Return the interventional Shapley values of sum_s coef_s K(s, x) for every row.

    Parameters
    ----------
    kernel : RBF or Laplacian
    X, background : ndarray of shape (n, features) and (m, features)
    vectors : Vectors
    coef : ndarray of shape (lines, n_SV)
    threads : int
    observe : callable
        Called with the finished part of the work after each native call.

    Returns
    -------
    ndarray of shape (n, features, lines)
    """
    node, weight = quadrature(max(1, X.shape[1]))
    native, out = native_kernel(kernel, far=False), np.zeros((*X.shape, len(coef)))
    weight = weight / len(background)
    pieces = list(_pieces(len(X), len(background), coef.shape[1], X.shape[1] * len(node)))
    for done, (rows, some, part) in enumerate(pieces, 1):
        _core.add_shapley_values(
            kernel=native,
            rows=as_rows(X[rows]).native,
            background=as_rows(background[some]).native,
            vectors=vectors.native,
            vector_index=np.arange(part.start, part.stop),
            node=node,
            weight=weight,
            coef=np.ascontiguousarray(coef[:, part]),
            out=out[rows],
            threads=threads,
        )
        observe(done / len(pieces))
    return out


def _pieces(
    rows: int, background: int, vectors: int, products: int
) -> Iterator[tuple[slice, slice, slice]]:
    """Yield slices of rows, of the background and of the vectors, each one native call.

    They do not depend on the number of threads: sums are always added in the same order.
    """
    few = min(vectors, _FEWEST_VECTORS)
    others = int(np.clip(_CALL_COST / max(1, few * products), 1, background))
    pairs = _CALL_COST / max(1, others * products)  # of rows and vectors
    width = int(np.clip(pairs / _ROWS_AT_ONCE, few, max(1, vectors)))
    height = int(np.clip(pairs / max(1, width), 1, rows))
    for r in _slices(rows, height):
        for v in _slices(vectors, width):
            for z in _slices(background, others):
                yield r, z, v


def _slices(size: int, step: int) -> Iterator[slice]:
    for a in range(0, size, max(1, step)):
        yield slice(a, min(a + step, size))


def without_constants(
    kernel: RBF | Laplacian, X: Floats, background: Floats, vectors: Vectors, coef: Floats
) -> tuple[np.ndarray, Vectors, Floats]:
    """Return the features that vary, the vectors with these only, and coefficients for them.

    A feature that is the same in all rows and the whole background has the value zero. Its factor
    does not change, and is multiplied into the coefficients.
    """
    varies = (X[:1] != X).any(axis=0) | (background != X[:1]).any(axis=0)
    if varies.all():
        return varies, vectors, coef
    gram = Gram(kernel, as_rows(X[:1, ~varies]), as_rows(vectors.data[:, ~varies]))
    return varies, as_rows(vectors.data[:, varies]), coef * gram.block()
