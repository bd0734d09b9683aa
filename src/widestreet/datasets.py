"""Synthetic problems of any size, with known structure.

Each function draws ``n`` rows with one `numpy.random.Generator`, so that the same ``random_state``
gives the same rows. With dtype float32 the random numbers are drawn in float32: this takes half the
memory and gives another sample of the same distribution.

==================  ==========  =====================================================
function            features    difficulty
==================  ==========  =====================================================
`checkerboard`      2           no noise, but a long boundary: many free support vectors
`twonorm`           d (20)      overlapping classes, linear Bayes boundary
`ringnorm`          d (20)      overlapping classes, spherical Bayes boundary
`friedman`          10          regression, unit noise, five irrelevant features
==================  ==========  =====================================================
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

__all__ = ["checkerboard", "friedman", "ringnorm", "twonorm"]

Seed: TypeAlias = int | np.random.Generator | None
Labelled: TypeAlias = tuple[npt.NDArray[np.floating[Any]], npt.NDArray[np.int64]]


def checkerboard(n: int, random_state: Seed = None, dtype: npt.DTypeLike = np.float64) -> Labelled:
    """Draw points of a 4 x 4 checkerboard.

    ``x`` is uniform on ``[0, 4)^2``; ``y = +1`` where ``floor(x_1) + floor(x_2)`` is even, else
    ``-1``. The classes do not overlap: the best error is zero.

    Parameters
    ----------
    n : int
        Number of rows.
    random_state : int, numpy.random.Generator or None, default=None
        Seed or generator of the random numbers.
    dtype : {numpy.float64, numpy.float32}, default=numpy.float64
        Type of ``X``.

    Returns
    -------
    X : ndarray of shape (n, 2)
        The points.
    y : ndarray of shape (n,), int64
        Labels of the points, -1 or +1.

    Examples
    --------
    >>> from widestreet.datasets import checkerboard
    >>> X, y = checkerboard(1000, random_state=0)
    >>> X.shape, X.min() >= 0, X.max() < 4
    ((1000, 2), np.True_, np.True_)
    >>> bool(((X.astype(int).sum(axis=1) % 2 == 0) == (y == 1)).all())
    True
    """
    rng, dtype = np.random.default_rng(random_state), _floating(dtype)
    X = rng.random((n, 2), dtype=dtype)
    X *= 4  # exact: a power of two
    odd = np.floor(X).sum(axis=1).astype(np.int64) % 2
    return X, 1 - 2 * odd


def twonorm(
    n: int, d: int = 20, random_state: Seed = None, dtype: npt.DTypeLike = np.float64
) -> Labelled:
    """Draw from two normal distributions of unit variance.

    ``y`` is a fair coin; ``x ~ N(y a 1, I)`` with ``a = 2 / sqrt(d)``, so that the
    distance of the two means is 4 for every ``d``, and the best error is ``Phi(-2)``, about 2.3%.

    Parameters
    ----------
    n : int
        Number of rows.
    d : int, default=20
        Number of features.
    random_state : int, numpy.random.Generator or None, default=None
        Seed or generator of the random numbers.
    dtype : {numpy.float64, numpy.float32}, default=numpy.float64
        Type of ``X``.

    Returns
    -------
    X : ndarray of shape (n, d)
        The points.
    y : ndarray of shape (n,), int64
        Labels of the points, -1 or +1.

    Examples
    --------
    >>> from widestreet.datasets import twonorm
    >>> X, y = twonorm(50_000, random_state=0)
    >>> side = X.sum(axis=1)  # the Bayes rule is its sign
    >>> print(f"{(side * y > 0).mean():.2f}")
    0.98
    """
    rng, dtype = np.random.default_rng(random_state), _floating(dtype)
    y = _coins(n, rng)
    X = rng.standard_normal((n, d), dtype=dtype)
    X += (2 / np.sqrt(d) * y[:, None]).astype(dtype)
    return X, y


def ringnorm(
    n: int, d: int = 20, random_state: Seed = None, dtype: npt.DTypeLike = np.float64
) -> Labelled:
    """Draw from a wide normal distribution and a narrow one inside it.

    ``y`` is a fair coin; ``x ~ N(0, 4 I)`` for ``y = +1`` and ``x ~ N(a 1, I)`` with
    ``a = 2 / sqrt(d)`` for ``y = -1``. The best boundary is a sphere.

    Parameters
    ----------
    n : int
        Number of rows.
    d : int, default=20
        Number of features.
    random_state : int, numpy.random.Generator or None, default=None
        Seed or generator of the random numbers.
    dtype : {numpy.float64, numpy.float32}, default=numpy.float64
        Type of ``X``.

    Returns
    -------
    X : ndarray of shape (n, d)
        The points.
    y : ndarray of shape (n,), int64
        Labels of the points, -1 or +1.

    Examples
    --------
    >>> from widestreet.datasets import ringnorm
    >>> X, y = ringnorm(50_000, random_state=0)
    >>> for label in (1, -1):
    ...     print(f"{label:+d}: standard deviation {X[y == label].std(axis=0).mean():.1f}")
    +1: standard deviation 2.0
    -1: standard deviation 1.0
    """
    rng, dtype = np.random.default_rng(random_state), _floating(dtype)
    y = _coins(n, rng)
    wide = y[:, None] > 0
    X = rng.standard_normal((n, d), dtype=dtype)
    X *= np.where(wide, 2, 1).astype(dtype)
    X += np.where(wide, 0, 2 / np.sqrt(d)).astype(dtype)
    return X, y


def friedman(
    n: int, random_state: Seed = None, dtype: npt.DTypeLike = np.float64
) -> tuple[npt.NDArray[np.floating[Any]], npt.NDArray[np.float64]]:
    """Draw Friedman's first regression problem.

    ``x`` is uniform on ``[0, 1)^10`` and ``y = 10 sin(pi x_1 x_2) + 20 (x_3 - 1/2)^2 + 10 x_4 +
    5 x_5 + e`` with ``e ~ N(0, 1)``; the other five features do not matter. The best mean squared
    error is 1.

    Parameters
    ----------
    n : int
        Number of rows.
    random_state : int, numpy.random.Generator or None, default=None
        Seed or generator of the random numbers.
    dtype : {numpy.float64, numpy.float32}, default=numpy.float64
        Type of ``X``.

    Returns
    -------
    X : ndarray of shape (n, 10)
        The points.
    y : ndarray of shape (n,), float64
        Targets of the points.

    Examples
    --------
    >>> from widestreet.datasets import friedman
    >>> X, y = friedman(20_000, random_state=0)
    >>> print(X.shape, f"mean {y.mean():.1f}")
    (20000, 10) mean 14.4
    """
    rng, dtype = np.random.default_rng(random_state), _floating(dtype)
    X = rng.random((n, 10), dtype=dtype)
    x = X[:, :5].T.astype(np.float64)
    y = 10 * np.sin(np.pi * x[0] * x[1]) + 20 * (x[2] - 0.5) ** 2 + 10 * x[3] + 5 * x[4]
    return X, y + rng.standard_normal(n)


def _coins(n: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Return ``n`` labels, -1 or +1 with equal probability."""
    return 2 * rng.integers(0, 2, n) - 1


def _floating(dtype: npt.DTypeLike) -> np.dtype[Any]:
    """Return the dtype, which must be float32 or float64."""
    resolved = np.dtype(dtype)
    if resolved not in (np.float32, np.float64):
        raise ValueError(f"dtype must be float32 or float64, got {resolved}.")
    return resolved
