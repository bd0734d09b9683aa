"""Kernels: parameters, textbook formulas and bounds on their values.

The backends compute kernel values between many rows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable as Function
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np

from widestreet._src.arrays import Floats

# Largest gamma |x|^2 for which a distance from norms has nearly all digits of one from differences.
_NEAR = 16.0


@dataclass(frozen=True)
class Kernel(ABC):
    """Kernel with its parameters.

    Attributes
    ----------
    name : str
        Value of the parameter `kernel`.
    translation_invariant : bool
        True if K(x + a, s + a) = K(x, s).
    positive : bool
        True if K is positive semidefinite on any data.
    """

    name: ClassVar[str]
    translation_invariant: ClassVar[bool] = False

    @property
    def positive(self) -> bool:
        return False


@dataclass(frozen=True)
class NativeKernel(Kernel):
    """Kernel that the core computes; `name` is also its name in the core."""

    @classmethod
    def parameters(cls) -> set[str]:
        """Return the names of the parameters of the kernel."""
        return {field.name for field in fields(cls)}

    @abstractmethod
    def plain(self, X: Floats, S: Floats) -> Floats:
        """Return K(x, s) for all rows x of X and s of S by the textbook formula."""

    def of_squares(self, square: Floats) -> Floats:
        """Return K(x, x) from |x|^2."""
        return np.ones(len(square))

    def largest(self, square: float) -> float:
        """Return a bound on |K(x, s)| for |x|^2 and |s|^2 of at most `square`."""
        return 1.0


@dataclass(frozen=True)
class Linear(NativeKernel):
    """K(x, s) = x.s"""

    name: ClassVar[str] = "linear"

    @property
    def positive(self) -> bool:
        return True

    def plain(self, X: Floats, S: Floats) -> Floats:
        return X @ S.T

    def of_squares(self, square: Floats) -> Floats:
        return square

    def largest(self, square: float) -> float:
        return square


@dataclass(frozen=True)
class RBF(NativeKernel):
    """K(x, s) = exp(-gamma |x - s|^2)"""

    name: ClassVar[str] = "rbf"
    translation_invariant: ClassVar[bool] = True

    gamma: float

    @property
    def positive(self) -> bool:
        return True

    def plain(self, X: Floats, S: Floats) -> Floats:
        square, other = (np.einsum("ij,ij->i", rows, rows) for rows in (X, S))
        if self.gamma * max(square.max(initial=0.0), other.max(initial=0.0)) < _NEAR:
            distance = (-2.0 * X) @ S.T
            distance += square[:, None]
            distance += other
        else:
            distance = np.array([np.square(S - x).sum(axis=1) for x in X]).reshape(len(X), len(S))
        distance *= -self.gamma
        return np.exp(distance, out=distance)


@dataclass(frozen=True)
class Laplacian(NativeKernel):
    """K(x, s) = exp(-gamma |x - s|_1)"""

    name: ClassVar[str] = "laplacian"
    translation_invariant: ClassVar[bool] = True

    gamma: float

    @property
    def positive(self) -> bool:
        return True

    def plain(self, X: Floats, S: Floats) -> Floats:
        distance = np.array([np.abs(S - x).sum(axis=1) for x in X]).reshape(len(X), len(S))
        return np.asarray(np.exp(-self.gamma * distance))


@dataclass(frozen=True)
class Poly(NativeKernel):
    """K(x, s) = (gamma x.s + coef0)^degree"""

    name: ClassVar[str] = "poly"

    gamma: float
    coef0: float
    degree: int

    @property
    def positive(self) -> bool:
        return self.coef0 >= 0

    def plain(self, X: Floats, S: Floats) -> Floats:
        return np.asarray((self.gamma * (X @ S.T) + self.coef0) ** self.degree)

    def of_squares(self, square: Floats) -> Floats:
        return np.asarray((self.gamma * square + self.coef0) ** self.degree)

    def largest(self, square: float) -> float:
        with np.errstate(over="ignore"):
            return float(np.float64(self.gamma * square + abs(self.coef0)) ** self.degree)


@dataclass(frozen=True)
class Sigmoid(NativeKernel):
    """K(x, s) = tanh(gamma x.s + coef0), which is not positive semidefinite in general."""

    name: ClassVar[str] = "sigmoid"

    gamma: float
    coef0: float

    def plain(self, X: Floats, S: Floats) -> Floats:
        return np.asarray(np.tanh(self.gamma * (X @ S.T) + self.coef0))

    def of_squares(self, square: Floats) -> Floats:
        return np.asarray(np.tanh(self.gamma * square + self.coef0))


@dataclass(frozen=True)
class Precomputed(Kernel):
    """Kernel given as a matrix."""

    name: ClassVar[str] = "precomputed"


@dataclass(frozen=True)
class Callable(Kernel):
    """Kernel computed by a Python function of two blocks of rows."""

    name: ClassVar[str] = "callable"

    function: Function[[Any, Any], Any]

    def __hash__(self) -> int:  # the function may have none
        return id(self.function)


NATIVE_KERNELS: dict[str, type[NativeKernel]] = {
    kernel.name: kernel for kernel in (Linear, Poly, RBF, Sigmoid, Laplacian)
}
