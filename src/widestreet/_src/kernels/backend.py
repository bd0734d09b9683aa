"""Protocol of a backend, which computes kernel values."""

from __future__ import annotations

from typing import Any, Protocol

from widestreet import _core
from widestreet._src.arrays import Floats, Ints, Real
from widestreet._src.kernels.interpolation import Interpolation


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
