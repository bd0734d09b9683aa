"""Protocol of a device: it holds rows, and scans them without storing kernel values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Protocol

from widestreet._src.arrays import Floats, Ints

MOST_PARTS = 12  # of a sum in float64: the bounds on rounding count so many partial sums
LANES = 32  # sums in float64 that go side by side within a part


@dataclass(frozen=True)
class Map:
    """Map from two rows to their kernel value, of features that are multiplied by `factor`.

    "rbf" is 2^(x.s - |x|^2 / 2 - |s|^2 / 2), "linear" and "poly" are (x.s + start)^degree,
    "sigmoid" is tanh(x.s + start), "laplacian" is 2^-(sum of |x_k - s_k|), "far_rbf" is
    2^-(|x - s|^2).
    """

    kind: Literal["rbf", "linear", "poly", "sigmoid", "laplacian", "far_rbf"]
    factor: float
    start: float = 0.0
    degree: int = 1

    @property
    def of_differences(self) -> bool:
        """True if values depend on differences of features, not on inner products."""
        return self.kind in ("laplacian", "far_rbf")


class Held(Protocol):
    """Rows in the memory of a device, in its own form."""

    @property
    def rows(self) -> int: ...


class Device(Protocol):
    """A device.

    Attributes
    ----------
    name : str
        What messages call it.
    """

    @property
    def name(self) -> str: ...

    def room(self) -> int:
        """Return the number of bytes that are free."""
        ...

    def bytes_per_row(self, features: int) -> int:
        """Return the memory that a row takes."""
        ...

    def hold(self, values: Any, centre: Floats | None, by: Map) -> Held:
        """Copy rows to the device.

        Parameters
        ----------
        values : ndarray or CSR of shape (n, d)
        centre : ndarray of shape (d,), optional
            Point that is subtracted from the rows.
        by : Map
            Its factor is multiplied with the features.
        """
        ...

    def scan(
        self,
        by: Map,
        left: Held,
        I: Ints | None,
        right: Held,
        J: Ints | None,
        coef: Floats,
        double: bool,
    ) -> Floats:
        """Return K[I, J] @ coef for each line of `coef`.

        Values and sums are float64 if `double`. Otherwise features are split into two halves of
        float16, products and values are float32.
        """
        ...

    def release(self) -> None:
        """Return memory that is not in use to other processes."""
        ...
