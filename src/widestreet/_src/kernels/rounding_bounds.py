"""Bounds on the rounding errors of kernel values and of sums over them.

A computed value k of a kernel K differs from the exact one by at most `relative` K + `absolute`.
The bounds hold for every instruction set: they count the operations of core/kernels/panel.hpp and
core/kernels/sink.hpp in sequence, in units u of rounding (2^-53 in float64, 2^-24 in float32).

    X, d    largest norm of a row, number of features
    z       what the core accumulates (core/kernels/kernel.hpp): d products and two start values
    m       terms of a sum: eight at a time in each lane, then these partial sums in float64

Features relative to a centre are off by one unit, scaled ones by two more; a sum of d products is
off by (d + 1) u times the sum of their sizes, which is at most X^2. Dense rows of more than 32
features are summed in parts of 32, so that no product takes part in more than `chain` additions.

Products of levels (rows/levels.py) are exact. What they are multiplied with is off by four units
(step^2 and factors), and the product by one more. Rows deviate from the grid by vectors of norm E
at most. If each value deviates by a few units of itself, that is part of `LEVEL_UNITS`.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, comb, e, log, log2, sqrt

import numpy as np

from widestreet._src.arrays import Floats
from widestreet._src.kernels.kernels import RBF, Laplacian, Linear, NativeKernel, Poly, Sigmoid

UNIT = 2.0**-53
UNIT_FLOAT32 = 2.0**-24
TINY = 2.0**-1074  # error of an operation with float64 whose result underflows
EXPONENTIAL = 4.5e-16  # relative error of 2^z in float64, stated in core/kernels/simd.hpp
EXPONENTIAL_FLOAT32 = 2.3e-7
_EXPONENTIAL_DEVICE = 2.0**-22  # of the instruction ex2.approx, in NVIDIA's manual of PTX
_LINEAR_UP_TO = 0.1  # errors of an exponent for which 2^error - 1 <= 1.1 log(2) error
_LARGEST_Z_OF_POWER = 1.0 / (e * log(2))  # max of z 2^-z
_LARGEST_ROOT_OF_POWER = sqrt(0.5 / (e * log(2)))  # max of sqrt(z) 2^-z
_PART = 32  # features that the core adds up in sequence (kTerms)
_SHORT_SUMS = 24  # units: eight terms of a partial sum, eight lanes, the sums of panels
LEVEL_UNITS = 24  # of x.s: 8 for the deviation of either row, 6 for factors and products
_LEVEL_EXPONENT = 12  # of S: 6 of |x - s|^2, which is at most twice |x|^2 + |s|^2
_TERMS_PER_UNIT = 16  # terms of a sum that cost one more unit: eight in each of two lanes


@dataclass(frozen=True)
class ValueBound:
    """Bounds on the errors of computed kernel values, and on their sizes."""

    relative: float
    absolute: float
    largest: float


def chain(features: int, *, sparse: bool) -> int:
    """Return the largest number of additions that a product of two features takes part in."""
    if sparse or features <= _PART:
        return features
    return _PART + ceil(features / _PART)


def value_error(
    kernel: NativeKernel,
    *,
    far: bool,
    sparse: bool,
    square: float,
    features: int,
    off_grid: float | None = None,
) -> ValueBound:
    """Bound the error of a kernel value in float64.

    Parameters
    ----------
    kernel : NativeKernel
    far : bool
        Whether an RBF kernel is computed from differences instead of norms.
    sparse : bool
        Whether the core visits the nonzeros of a row only: then sums of differences start from a
        norm, and every step rounds relative to that norm.
    square : float
        The largest |x|^2.
    features : int
    off_grid : float, optional
        The norm E, if products are those of levels.
    """
    d, u = chain(features, sparse=sparse) if off_grid is None else LEVEL_UNITS, UNIT
    match kernel:
        case Linear():
            return ValueBound(0.0, (d + 4) * u * square, square)
        case Poly(gamma, coef0, degree):
            largest = _power(gamma * square + abs(coef0), degree)
            return ValueBound(0.0, degree * (d + 6) * u * largest, largest)
        case Sigmoid(gamma, coef0):
            return ValueBound(0.0, ((d + 6) * (gamma * square + abs(coef0)) + 8) * u, 1.0)
        case RBF(gamma) if not far:
            units = exponent_units(features, sparse=sparse, double=True)
            if off_grid is not None:
                units = _LEVEL_EXPONENT
            error = RBFBound.of(gamma, units, unit=u, power=EXPONENTIAL)
            # distances are off by 2 E, and exp(-gamma t^2) has no larger slope than this
            absolute = 2.0 * sqrt(2.0 * gamma / e) * (off_grid or 0.0)
            return ValueBound(min(1.0, error.relative(2.0 * square)), absolute, 1.0)
        case RBF(gamma):  # squares of differences, each off by 4 u X sqrt(gamma log2 e)
            shift = 8.0 * sqrt(gamma * log2(e) * square) * _LARGEST_ROOT_OF_POWER
            return _of_differences(shift, d, sparse)
        case Laplacian(gamma):
            return _of_differences(8.0 * gamma * log2(e) * sqrt(features * square), d, sparse)
        case _:
            raise TypeError(f"the rounding of {kernel} is not bounded")


def _of_differences(shift: float, features: int, sparse: bool) -> ValueBound:
    """Bound the error of 2^-z, where z is a sum of differences between features.

    `shift` is the error of z by rounded features, in units.
    """
    shift *= (2 * features + 8) if sparse else 1
    exponent = UNIT * (shift + (features + 8) * _LARGEST_Z_OF_POWER)
    return ValueBound(0.0, min(1.0, 1.1 * log(2) * exponent + EXPONENTIAL), 1.0)


@dataclass(frozen=True)
class RBFBound:
    """Relative error of exp(-gamma |x - s|^2) computed from norms and a product.

    It is at most `constant` + `slope` (|x|^2 + |s|^2) where |x|^2 + |s|^2 <= `most`.
    """

    constant: float
    slope: float
    most: float

    @classmethod
    def of(cls, gamma: float, units: int, *, unit: float, power: float) -> RBFBound:
        """Return the bound for an exponent that is off by `units` (see `exponent_units`).

        `power` is the relative error of the exponential.
        """
        exponent = units * unit * gamma * log2(e)
        most = _LINEAR_UP_TO / exponent if exponent > 0 else float("inf")
        return cls(power, 1.1 * log(2) * exponent, most)

    def off_grid(self, gamma: float, error: float, square: float) -> RBFBound:
        """Return the bound for rows that deviate from a grid, of which distances are computed.

        |x - s|^2 is off by 4 E D + 4 E^2 for a distance D on the grid, and for any L > 0
        4 D <= 2^(5/2) sqrt(|x|^2 + |s|^2) <= 2^(3/2) ((|x|^2 + |s|^2) / L + L).

        Parameters
        ----------
        gamma : float
        error : float
            The norm E.
        square : float
            A typical value of |x|^2 + |s|^2, for L^2.
        """
        if error == 0.0:
            return self
        length, factor = sqrt(square) or error, 1.1 * gamma * error
        constant = factor * (sqrt(8.0) * length + 4.0 * error)
        slope = self.slope + factor * sqrt(8.0) / length
        most = (_LINEAR_UP_TO - constant) / slope  # negative: nothing is known of any row
        return RBFBound(self.constant + constant, slope, min(self.most, most))

    def relative(self, squares: float) -> float:
        """Return the bound for |x|^2 + |s|^2; infinite if there is none."""
        return self.constant + self.slope * squares if squares <= self.most else float("inf")


def exponent_units(features: int, *, sparse: bool, double: bool) -> int:
    """Bound the error of the exponent of an RBF kernel, in units of S.

    S = (|x|^2 + |s|^2) gamma log2(e), and u is the unit of rounding. The exponent is a sum of d
    products of at most S in all and of two squares, which are S. Their values are off by 4 u each
    (rounded features and factors): 8 u S. In one sequence every partial sum is at most 2 S, so that
    adding up costs (2 d + 8) u S. In parts, the products cost 32 u S and the sums of the parts
    2 u S each. The squares are added up in float64, which counts if that is the precision.
    """
    squares = chain(features, sparse=sparse) if double else 0
    if sparse or features <= _PART:
        return 2 * features + 16 + squares
    return _PART + 2 * ceil(features / _PART) + 16 + squares


def single_precision(gamma: float, features: int, square: float, *, sparse: bool) -> RBFBound:
    """Bound the error of an RBF kernel in float32, up to any |x|^2.

    Rounded coefficients, sums of eight terms, and those of two lanes add less than 18 units. Values
    that exceed one by their rounding are within the bound.
    """
    units = exponent_units(features, sparse=sparse, double=False)
    power = EXPONENTIAL_FLOAT32 + 18 * UNIT_FLOAT32
    return RBFBound.of(gamma, units, unit=UNIT_FLOAT32, power=power)


def double_precision(gamma: float, features: int, terms: int, *, sparse: bool) -> RBFBound:
    """Bound the error of a term of a sum over an RBF kernel in float64."""
    units = exponent_units(features, sparse=sparse, double=True)
    return RBFBound.of(gamma, units, unit=UNIT, power=EXPONENTIAL + float(sum_error(terms)))


def half_precision(gamma: float, features: int, square: float, *, sparse: bool) -> RBFBound:
    """Bound the error of an RBF kernel whose features are split into halves of float16.

    In units u of float32, and of S = (|x|^2 + |s|^2) gamma log2(e): a feature x = h + l + r has a
    rest |r| <= 2^-22 |x|, and the product of the lower halves is left out, 12 u S in all. Tensor
    cores multiply 16 features at a time, exactly, and cut off the digits of every term below 2^-23
    of the largest: 2 u S for each of the d products, and for the sum before and after each such
    step. Norms, their sum and that of the exponent cost 8 u S with the products of lower halves.

    Features are scaled so that the largest is at least 2^9. Halves below the range of float16 are
    off by 2^-24, which is 2^-33 of the largest feature and adds a constant. Sums of 8 terms, and of
    128 of these in any order of up to 34 additions, cost 48 units with the coefficients.

    Parameters
    ----------
    gamma : float
    features : int
        The number d.
    square : float
        The largest |x|^2.
    sparse : bool
        Of no effect: zeros are multiplied as well.
    """
    units = 2 * features + 4 * ceil(features / 16) + 20
    lost = 4.0 * 2.0**-33 * sqrt(features) * gamma * log2(e) * square
    power = _EXPONENTIAL_DEVICE + 48 * UNIT_FLOAT32 + 1.1 * log(2) * lost
    return RBFBound.of(gamma, units, unit=UNIT_FLOAT32, power=power)


def level_precision(
    gamma: float, terms: int, error: float, square: float, *, double: bool
) -> RBFBound:
    """Bound the error of a term of a sum over an RBF kernel of levels.

    Parameters
    ----------
    gamma : float
    terms : int
    error : float
        The norm E of the deviations from the grid.
    square : float
        A typical value of |x|^2 + |s|^2.
    double : bool
        Whether the values are in float64.
    """
    unit = UNIT if double else UNIT_FLOAT32
    power = EXPONENTIAL_FLOAT32 + 18 * UNIT_FLOAT32
    if double:
        power = EXPONENTIAL + float(sum_error(terms))
    bound = RBFBound.of(gamma, _LEVEL_EXPONENT, unit=unit, power=power)
    return bound.off_grid(gamma, error, square)


def sum_error(terms: Floats | int) -> Floats:
    """Bound the error of adding up terms in float64, relative to the sum of their sizes."""
    return (_SHORT_SUMS + np.asarray(terms) / _TERMS_PER_UNIT) * UNIT


def row_errors(
    kernel: NativeKernel, norm: Floats, other: Floats, size: Floats, additions: int
) -> Floats:
    """Bound the error of sums over float64 values of a kernel of inner products, row by row.

    Parameters
    ----------
    kernel : NativeKernel
    norm, other : ndarray
        Norms of the rows and of the vectors.
    size : ndarray
        Sizes of the coefficients of the vectors.
    additions : int
        Result of `chain`.
    """
    d, sums = additions, float(sum_error(len(size)))
    match kernel:
        case Poly(gamma, coef0, degree):
            largest = power_sums(gamma, abs(coef0), degree, norm, other, size)
            return (degree * (d + 6) * UNIT + sums) * largest
        case Sigmoid(gamma, coef0):  # of the argument of tanh, then of tanh
            largest = power_sums(gamma, abs(coef0), 1, norm, other, size)
            return (d + 6) * UNIT * largest + (8 * UNIT + sums) * float(size.sum())
        case _:
            return ((d + 4) * UNIT + sums) * power_sums(1.0, 0.0, 1, norm, other, size)


def power_sums(
    factor: float, start: float, degree: int, norm: Floats, other: Floats, size: Floats
) -> Floats:
    """Sum size_j (factor norm_i other_j + start)^degree over j."""
    total = np.zeros(len(norm))
    with np.errstate(over="ignore", invalid="ignore"):
        for k in range(degree + 1):
            moment = float(size @ other**k) * _power(factor, k) * _power(start, degree - k)
            total += comb(degree, k) * moment * norm**k
    total[np.isnan(total)] = np.inf
    return total


def _power(base: float, exponent: int) -> float:
    """Return a power, or infinity where it overflows."""
    with np.errstate(over="ignore"):
        return float(np.float64(base) ** exponent)
