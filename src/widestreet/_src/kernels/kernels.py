"""Kernels as plain parameters; how they are evaluated is the Gram's affair."""

from __future__ import annotations

from collections.abc import Callable as Function
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias


@dataclass(frozen=True)
class Linear:
    """K(x, s) = x.s"""

    translation_invariant: ClassVar[bool] = False
    positive: ClassVar[bool] = True  # K is positive semidefinite on any data


@dataclass(frozen=True)
class RBF:
    """K(x, s) = exp(-gamma |x - s|^2)"""

    gamma: float
    translation_invariant: ClassVar[bool] = True
    positive: ClassVar[bool] = True


@dataclass(frozen=True)
class Laplacian:
    """K(x, s) = exp(-gamma |x - s|_1)"""

    gamma: float
    translation_invariant: ClassVar[bool] = True
    positive: ClassVar[bool] = True


@dataclass(frozen=True)
class Poly:
    """K(x, s) = (gamma x.s + coef0)^degree"""

    gamma: float
    coef0: float
    degree: int
    translation_invariant: ClassVar[bool] = False

    @property
    def positive(self) -> bool:
        return self.coef0 >= 0


@dataclass(frozen=True)
class Sigmoid:
    """K(x, s) = tanh(gamma x.s + coef0), which is not positive semidefinite in general."""

    gamma: float
    coef0: float
    translation_invariant: ClassVar[bool] = False
    positive: ClassVar[bool] = False


@dataclass(frozen=True)
class Precomputed:
    """K is given as a matrix."""

    translation_invariant: ClassVar[bool] = False
    positive: ClassVar[bool] = False


@dataclass(frozen=True)
class Callable:
    """K(X, S) is computed by a Python function of two blocks of rows."""

    function: Function[[Any, Any], Any]
    translation_invariant: ClassVar[bool] = False
    positive: ClassVar[bool] = False


NativeKernel: TypeAlias = Linear | RBF | Laplacian | Poly | Sigmoid
Kernel: TypeAlias = NativeKernel | Precomputed | Callable
