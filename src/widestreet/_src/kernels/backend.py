"""Protocol of a backend, which computes kernel values."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from widestreet import _core
from widestreet._src.arrays import Floats, Ints, Real
from widestreet._src.kernels.interpolation import Interpolation

TINY = float(np.finfo(np.float32).tiny)  # below, float32 values and products lose digits
_ROUGH_SUMS = 0.01  # relative error of sums that bound errors


class Backend(Protocol):
    """Source of kernel values between two sets of rows.

    Indices I and J select left and right rows; None means all.

    Attributes
    ----------
    cost : float
        Rough cost of one kernel value, in units of one fused multiply-add.
    scan_cost : float or None
        Cost of one call of `add_scan`, in the same units; None for what all threads of the CPU do
        in some hundredths of a second.
    values_per_call : float
        Number of kernel values that take as long as a call of `add_scan` takes beside them.
    fits_float32 : bool
        True if float32 can hold the kernel values.
    native : tuple or None
        Kernel and left rows as objects of the core; None if the core cannot compute their values.
    smooth : Interpolation or None
        Sums over the values by interpolation, with errors far below those of float32.
    """

    @property
    def cost(self) -> float: ...

    @property
    def scan_cost(self) -> float | None: ...

    @property
    def values_per_call(self) -> float: ...

    @property
    def fits_float32(self) -> bool: ...

    @property
    def native(self) -> tuple[_core.Kernel, _core.Rows] | None: ...

    @property
    def smooth(self) -> Interpolation | None: ...

    def facing(self, right: Any) -> Backend:
        """Return the backend of the same left rows and other right rows."""
        ...

    def reduced(self, J: Ints | None, coef: Floats) -> tuple[Backend, Ints | None, Floats]:
        """Return a backend, right rows and coefficients of the same scan with fewer right rows."""
        ...

    def together(self, I: Ints | None, width: int) -> Ints | None:
        """Return an order of the left rows I that saves work for `width` columns, or None."""
        ...

    def add_scan(
        self, I: Ints | None, J: Ints | None, coef: Floats, out: Floats, double: bool
    ) -> None:
        """Add K[I, J] @ coef to `out`, line by line, from values in float64 or float32."""
        ...

    def fill(self, I: Ints | None, J: Ints | None, out: Real, out_rows: Ints | None) -> None:
        """Write K[I, J] into the rows `out_rows` of `out`."""
        ...

    def diag(self, I: Ints | None) -> Floats:
        """Return K(x, x) of the left rows I."""
        ...

    def score_error(self, terms: Floats, size: Floats, net: Floats) -> Floats:
        """Bound the error of float64 sums from the number, sizes and sum of their coefficients."""
        ...

    def scan_bound(
        self, I: Ints | None, J: Ints, coef: Floats, *, double: bool
    ) -> tuple[Floats, Floats] | None:
        """Return weights of the right rows and a factor for each left row, or None.

        The error of a scan in float64 or float32 is at most the factor times that of the weights.
        """
        ...

    def score_errors(self, I: Ints | None, J: Ints, coef: Floats) -> Floats | None:
        """Bound the error of a float64 scan row by row; return None if no such bound is known."""
        ...


def dtype_of_sums(
    backend: Backend, I: Ints | None, J: Ints, weight: Floats
) -> type[np.float32 | np.float64]:
    """Return the precision in which sums of positive terms are off by less than a hundredth.

    It is float32 if the bound on its errors proves this.
    """
    bound, used = backend.scan_bound(I, J, weight, double=False), weight > 0
    if bound is None or backend.smooth is not None or not used.any():
        return np.float64
    more, part = bound
    worst = float(np.max(part, initial=0.0)) * float(np.max(more[used] / weight[used]))
    return np.float32 if worst < _ROUGH_SUMS else np.float64
