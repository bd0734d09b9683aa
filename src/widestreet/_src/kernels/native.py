"""Backend of the kernels that the native core computes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from math import fsum
from typing import ClassVar

import numpy as np

from widestreet import _core
from widestreet._src.arrays import Floats, Ints, Real
from widestreet._src.kernels import rounding_bounds
from widestreet._src.kernels.accurate_combination import Combinations
from widestreet._src.kernels.backend import Backend
from widestreet._src.kernels.bounded_scan import BoundedScan
from widestreet._src.kernels.interpolation import Interpolation
from widestreet._src.kernels.kernels import RBF, Linear, NativeKernel
from widestreet._src.kernels.level_products import LevelProducts, level_products
from widestreet._src.rows import DenseRows, Vectors

FAR = 1e3  # gamma |x|^2 above which a distance computed from norms loses too many digits
_FLOAT32_MAX = 1e30  # largest kernel value that may be added and multiplied in float32
_LEAST_GAMMA, _LARGEST_GAMMA = 1e-37, 1e37  # factors that float32 holds with all its digits
_INVERTED_BELOW = 0.03  # density below which the core uses an inverted index of the entries
_FEW_ROWS = 64  # fewer rows are not sorted by similarity
_MANY_ROWS = 64  # left rows from which on a combination of right rows saves work
_NARROW = 512  # with fewer columns rows are not sorted by similarity


def native_kernel(kernel: NativeKernel, far: bool) -> _core.Kernel:
    """Return the kernel for the core."""
    kind = "far_rbf" if far else kernel.name
    return _core.Kernel(
        getattr(_core.KernelKind, kind),
        gamma=getattr(kernel, "gamma", 1.0),
        coef0=getattr(kernel, "coef0", 0.0),
        degree=getattr(kernel, "degree", 1),
    )


@dataclass(frozen=True)
class NativeBackend:
    """Backend of one native kernel between two sets of rows.

    Attributes
    ----------
    longest : float, optional
        Bound on |x|^2 of all rows, if it is already known. It decides which formulas are used, so
        processes that share a problem must agree on it.
    shares_scans : bool
        True if the core computes scans, and so several of them in a call.
    combines : bool
        True if the scores of a linear kernel are computed from a combination of the right rows
        even if there are few left rows.
    """

    scan_cost: ClassVar[float | None] = None
    values_per_call: ClassVar[float] = 0.0
    shares_scans: ClassVar[bool] = True
    precision: ClassVar[Callable[..., rounding_bounds.RBFBound]] = staticmethod(
        rounding_bounds.single_precision
    )

    kernel: NativeKernel
    left: Vectors
    right: Vectors
    threads: int
    longest: float | None = None
    combines: bool = False

    def facing(self, right: Vectors) -> NativeBackend:
        """Return the backend of the same left rows and other right rows."""
        other = replace(self, right=right, combines=self._combinations is not None)
        if "_rank" in vars(self):
            vars(other)["_rank"] = self._rank
        return other

    def reduced(self, J: Ints | None, coef: Floats) -> tuple[NativeBackend, Ints | None, Floats]:
        """Return the scan of a linear kernel as one with a single right row for each line.

        This saves no work in a prediction of few rows.
        """
        if self._combinations is None:
            return self, J, coef
        return self.facing(DenseRows(self._combinations.of(J, coef))), None, np.eye(len(coef))

    @cached_property
    def _combinations(self) -> Combinations | None:
        """Combinations of right rows, for a linear kernel that is not that of few predictions."""
        few = self.left is not self.right and self.left.shape[0] < _MANY_ROWS
        if not isinstance(self.kernel, Linear) or (few and not self.combines):
            return None
        return Combinations(self.right)

    @cached_property
    def _longest(self) -> float:
        if self.longest is not None:
            return self.longest
        both = (self.left,) if self.left is self.right else (self.left, self.right)
        return max(rows.largest_square(self.threads) for rows in both)

    @cached_property
    def _far(self) -> bool:
        """True if rows are so long that distances must be computed from differences."""
        return isinstance(self.kernel, RBF) and self.kernel.gamma * self._longest > FAR

    @cached_property
    def operands(self) -> tuple[_core.Kernel, _core.Rows, _core.Rows]:
        """Kernel, left and right rows as objects of the core."""
        rows = self if self._levels is None else self._levels
        return native_kernel(self.kernel, self._far), rows.left.native, rows.right.native

    @cached_property
    def _rank(self) -> Ints | None:
        """Position of each left row in an order by similarity; None if that order is of no use."""
        rows = self.left
        if not rows.few_nonzeros or rows.density() < _INVERTED_BELOW or self._far:
            return None
        rank = np.empty(rows.shape[0], dtype=np.int64)
        rank[_core.similar_together(rows.native, self.threads)] = np.arange(len(rank))
        return rank

    def together(self, I: Ints | None, width: int) -> Ints | None:
        """Return an order of the left rows I by similarity, or None if it saves no work.

        The core processes adjacent rows together and reads nonzeros that they share only once.
        """
        count = self.left.shape[0] if I is None else len(I)
        if width < _NARROW or count < _FEW_ROWS or self._levels is not None or self._rank is None:
            return None
        return np.argsort(self._rank if I is None else self._rank[I], kind="stable")

    @cached_property
    def _levels(self) -> LevelProducts | None:
        """Products of levels, if the core computes the kernel from them."""
        if getattr(self.right, "grid", None) is None or self._far:
            return None
        return level_products(self.kernel, self.left, self.right, self.threads)

    @property
    def native(self) -> tuple[_core.Kernel, _core.Rows]:
        """Kernel and left rows as objects of the core."""
        return self.operands[:2]

    @property
    def fits_float32(self) -> bool:
        """True if kernel values and factors are within the range of float32."""
        gamma = getattr(self.kernel, "gamma", 1.0)
        scaled = not self.kernel.translation_invariant or _LEAST_GAMMA < gamma < _LARGEST_GAMMA
        return scaled and self.kernel.largest(self._longest) < _FLOAT32_MAX

    def scan_bound(
        self, I: Ints | None, J: Ints, coef: Floats, *, double: bool
    ) -> tuple[Floats, Floats] | None:
        """Bound the errors of a scan by `part` times the scan of `weight`, row by row.

        The error of a value is linear in |x|^2 + |s|^2. The weights contain |s|^2, so that the
        bound is tight for rows x of average length. The result is None if there is no bound.

        Parameters
        ----------
        I, J, coef : ndarray
        double : bool
            Whether the values are in float64.

        Returns
        -------
        weight : ndarray of shape (len(J),)
        part : ndarray of shape (len(I),)
        """
        if not isinstance(self.kernel, RBF) or self._far or not (double or self.fits_float32):
            return None
        features, levels = self.left.shape[1], self._levels
        if levels is not None and (levels.precise or not double):
            error, mine, other = levels.rbf_bound(self.kernel.gamma, I, J, double=double)
        else:
            error = (
                rounding_bounds.double_precision(
                    self.kernel.gamma, features, len(coef), sparse=self._sparse
                )
                if double
                else self.precision(self.kernel.gamma, features, self._longest, sparse=self._sparse)
            )
            mine, other = _squares(self, I, J)
        middle = error.constant + error.slope * float(np.mean(mine)) if len(mine) else 1.0
        part = error.slope * mine
        part += error.constant
        np.maximum(part, middle, out=part)
        part[mine > error.most - np.max(other, initial=0.0)] = np.inf
        return np.abs(coef) * (1.0 + error.slope / middle * other), part

    @property
    def _sparse(self) -> bool:
        """True if the core visits the nonzeros of a row only."""
        return self.left.few_nonzeros or self.right.few_nonzeros

    def score_error(self, terms: Floats, size: Floats, net: Floats) -> Floats:
        """Bound the error of float64 sums of `terms` values, for all rows at once.

        Parameters
        ----------
        terms, size, net : ndarray
            Number, sum of absolute values, and exact sum of the coefficients of each sum.
        """
        levels = self._levels
        bound = rounding_bounds.value_error(
            self.kernel,
            far=self._far,
            sparse=self._sparse,
            square=self._longest,
            features=self.left.shape[1],
            off_grid=levels.error if levels is not None and levels.precise else None,
        )
        sums = rounding_bounds.sum_error(terms)
        with np.errstate(over="ignore", invalid="ignore"):
            error = size * (bound.absolute + (bound.relative + sums) * bound.largest)
        return np.asarray(error + np.abs(net) * _off_centre(self))

    def score_errors(self, I: Ints | None, J: Ints, coef: Floats) -> Floats | None:
        """Bound the error of a float64 scan row by row, tighter than `score_error`.

        The result is None if a tighter bound would need kernel values.
        """
        if self.kernel.translation_invariant:
            return None
        off_centre = abs(fsum(coef.tolist())) * _off_centre(self)
        norm, other = map(np.sqrt, _squares(self, I, J))
        additions = rounding_bounds.chain(self.left.shape[1], sparse=self._sparse)
        if self._combinations is not None:
            size = float(np.abs(coef) @ other)
            errors = norm * self._combinations.error(J, coef, size, additions)
        else:
            if self._levels is not None and self._levels.precise:
                additions = rounding_bounds.LEVEL_UNITS
            errors = rounding_bounds.row_errors(self.kernel, norm, other, np.abs(coef), additions)
        return np.asarray(errors + off_centre)

    def add_scan(
        self, I: Ints | None, J: Ints | None, coef: Floats, out: Floats, double: bool
    ) -> None:
        """Add K[I, J] @ coef to `out` for each line of `coef`. Sets: out."""
        kernel, left, right = self.operands
        _core.scan(
            kernel,
            left=left,
            left_index=I,
            right=right,
            right_index=J,
            coef=coef,
            out=out,
            in_double=double,
            threads=self.threads,
        )

    @cached_property
    def smooth(self) -> Interpolation | None:
        """Scores of few features by interpolation; None if the kernel does not allow it."""
        kernel, rows = self.kernel, self.left
        if not isinstance(kernel, RBF) or not isinstance(rows, DenseRows):
            return None

        def at_nodes(nodes: DenseRows, J: Ints | None, coef: Floats, out: Floats) -> Floats:
            longest = max(self._longest, nodes.largest_square(1))
            backend = replace(self, left=nodes, longest=longest)
            backend.add_scan(None, J, coef, out, double=True)
            terms, size = np.asarray(coef.shape[1]), np.abs(coef).sum(axis=1)
            return backend.score_error(terms, size, coef.sum(axis=1))

        return Interpolation(kernel.gamma, rows, at_nodes, self.cost, self.threads)

    def fill(self, I: Ints | None, J: Ints | None, out: Real, out_rows: Ints | None) -> None:
        """Write K[I, J] into the rows `out_rows` of `out`. Sets: out."""
        kernel, left, right = self.operands
        _core.tile(
            kernel,
            left=left,
            left_index=I,
            right=right,
            right_index=J,
            out=out,
            out_rows=out_rows,
            threads=self.threads,
        )

    def diag(self, I: Ints | None) -> Floats:
        """Return K(x, x) of the left rows I."""
        count = self.left.shape[0] if I is None else len(I)
        if self.kernel.translation_invariant:
            return np.ones(count)
        return self.kernel.of_squares(self.left.squares(I, self.threads))

    @cached_property
    def cost(self) -> float:
        """Rough cost of one kernel value, in units of one fused multiply-add."""
        rows = self.right
        if self._levels is not None:
            return 16.0 + rows.shape[1] * self._levels.cost
        if self.left.sparse and rows.sparse:
            return 16.0 + rows.density() * rows.shape[1] * (8.0 if self._far else 1.0)
        if self._far:
            return 16.0 + 2.0 * rows.shape[1]
        return 16.0 + rows.shape[1] * (0.5 if self.left.few_nonzeros else 1.0)


def _squares(backend: NativeBackend, I: Ints | None, J: Ints) -> tuple[Floats, Floats]:
    """Return |x|^2 of left and of right rows."""
    threads = backend.threads
    return backend.left.squares(I, threads), backend.right.squares(J, threads)


def _off_centre(backend: NativeBackend) -> float:
    """Return the change of a score by the centre of a linear kernel if coefficients sum to one."""
    centre = getattr(backend.left, "centre", None)
    if centre is None or not isinstance(backend.kernel, Linear):
        return 0.0
    return float(np.linalg.norm(centre) * np.sqrt(backend._longest))


def bounded_scan(backend: Backend, J: Ints, coef: Floats) -> BoundedScan | None:
    """Return a float32 scan with a tight bound, if the kernel and the rows allow it."""
    if not isinstance(backend, NativeBackend) or not isinstance(backend.kernel, RBF):
        return None
    left, right = backend.left, backend.right
    if not isinstance(left, DenseRows) or not isinstance(right, DenseRows) or backend._sparse:
        return None
    if backend._far or backend._levels is not None or not backend.fits_float32:
        return None
    return BoundedScan.of(
        backend.kernel.gamma,
        left,
        right,
        J,
        coef,
        longest=backend._longest,
        threads=backend.threads,
    )
