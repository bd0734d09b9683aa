"""Type aliases of arrays."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Bools: TypeAlias = NDArray[np.bool_]
Bytes: TypeAlias = NDArray[np.uint8]
Codes: TypeAlias = NDArray[np.integer[Any]]  # classes by number: int8 if there are two
Real: TypeAlias = NDArray[np.floating[Any]]  # float32 or float64

__all__ = ["Bools", "Bytes", "Codes", "Floats", "Ints", "Real"]
