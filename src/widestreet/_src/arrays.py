"""Type aliases of arrays."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Bools: TypeAlias = NDArray[np.bool_]
Bytes: TypeAlias = NDArray[np.uint8]
Real: TypeAlias = NDArray[np.floating[Any]]  # float32 or float64

__all__ = ["Bools", "Bytes", "Floats", "Ints", "Real"]
