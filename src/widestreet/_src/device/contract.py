"""Protocol of a device: it holds rows, scans them, and solves a working set of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Protocol

from widestreet._src.arrays import Floats, Ints, Real
from widestreet._src.device.batch_contract import Batch
from widestreet._src.device.lent import LentArray

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


@dataclass(frozen=True, eq=False)
class Variables:
    """Variables of a working set, one per row.

    A row with two variables has the sum of both as its coefficient. The coefficient is that of the
    variable that may grow where it is positive, and that of the other one where it is negative.

    Attributes
    ----------
    coef, score : ndarray of shape (m,)
    target : ndarray of shape (m,)
        Target of the coefficient where it is positive.
    tube : ndarray of shape (m,)
        What is added to the target where the coefficient is negative.
    lower, upper : ndarray of shape (m,)
        `lower` is not positive and `upper` not negative.
    """

    coef: Floats
    score: Floats
    target: Floats
    tube: Floats
    lower: Floats
    upper: Floats


@dataclass(frozen=True, eq=False)
class Block:
    """Some rows of a working set, in the memory of the host until the next block is drawn.

    Attributes
    ----------
    tile : ndarray of shape (rows, width)
        Kernel values between them, float32 or float64, in lines of at least as many values.
    variables : Variables
    """

    tile: Real
    variables: Variables


@dataclass(frozen=True)
class Look:
    """State of the active rows of a working set.

    Attributes
    ----------
    highest, lowest : float
        Largest F where a coefficient may grow, and smallest F where it may shrink.
    free, violators : int
        Number of coefficients strictly between their bounds and zero, and of others that violate.
    steps : int
        Number of pair steps, or of factorisations, that the last call took.
    """

    highest: float
    lowest: float
    free: int
    violators: int
    steps: int = 0

    @property
    def violation(self) -> float:
        return self.highest - self.lowest


@dataclass(frozen=True)
class Census:
    """State of all rows of a device, when the scores of all of them are up to date.

    Attributes
    ----------
    highest, lowest : float
        Largest F where a coefficient may grow, and smallest F where it may shrink.
    bias : float
        Middle of the interval of biases of the working set.
    violators : int
        Number of rows outside the working set that violate.
    excess : float
        Sum of their violations.
    support, free : int
        Number of coefficients that are not zero, and of those strictly between their bounds.
    linear, norm, loss : float
        t'beta, c'Kc and the primal loss at the bias.
    values : int
        Number of kernel values that the update of the scores took.
    """

    highest: float
    lowest: float
    bias: float
    violators: int
    excess: float
    support: int
    free: int
    linear: float
    norm: float
    loss: float
    values: int

    @property
    def violation(self) -> float:
        return self.highest - self.lowest


@dataclass(frozen=True)
class Choice:
    """Rule by which rows stay in the working set of a device, or enter it.

    Attributes
    ----------
    slack, support_slack : float
        Rows at zero, and rows with another coefficient, stay if they are nearer to violating.
    tol : float
        Rows outside that violate by more may enter.
    chance : float
        Probability that such a row enters.
    most : int
        Largest number of rows; beyond it some are left out at random.
    """

    slack: float
    support_slack: float
    tol: float
    chance: float
    most: int


@dataclass(frozen=True, eq=False)
class Moved:
    """Rows of a working set, now and when it began: their slots, coefficients and scores."""

    slots: Ints
    coef: Floats
    score: Floats
    coef_before: Floats
    score_before: Floats


class Work(Protocol):
    """Rows in the memory of a device, some or all of them in the working set.

    All are in it until it grows. Rows of the working set are active until they are set aside.
    """

    @property
    def active(self) -> int:
        """Number of active rows."""
        ...

    def look(self) -> Look:
        """Return the state of the active rows."""
        ...

    def pairs(
        self,
        size: int,
        chances: tuple[float, float],
        tol: float,
        part: float,
        most: int,
        blocks: int = 1,
    ) -> Look:
        """Take pair steps within a block of active rows; update the scores of all active rows.

        Parameters
        ----------
        size : int
            Number of rows of the block. The two rows that violate most are among them.
        chances : tuple of float
            Probabilities that a free row, and another one that violates, is in the block.
        tol, part : float
            Violation at which the steps end: `tol`, or this part of the violation before.
        most : int
            Largest number of steps.
        blocks : int
            Number of blocks that are drawn and solved one after the other.
        """
        ...

    def draw(self, size: int, free: float, violating: float) -> Block:
        """Return a block of active rows: the two that violate most, and a random part of others.

        Parameters
        ----------
        size : int
            Largest number of rows.
        free, violating : float
            Probabilities that a free row, and another one that violates, is in the block.
        """
        ...

    def move(self, at: Ints, coef: Floats) -> Look:
        """Set coefficients at some places of the last block; update the scores of active rows."""
        ...

    def newton(self, ridge: float, passes: int) -> Look:
        """Take a Newton step on the active rows that are free or violate; update the scores.

        Parameters
        ----------
        ridge : float
            Part of the violation that the diagonal term adds for a step across the whole box.
        passes : int
            Largest number of factorisations, between which variables reach or leave their bounds.
        """
        ...

    def set_aside(self, distance: float) -> Look:
        """Make rows that are farther than this from violating inactive."""
        ...

    def take_back(self) -> Look:
        """Make all rows of the working set active, with their present scores."""
        ...

    def result(self) -> tuple[Floats, Floats]:
        """Return the coefficients and scores of all rows."""
        ...


class Growing(Protocol):
    """All rows in the memory of a device, with a working set of some of them."""

    @property
    def work(self) -> Work:
        """The working set."""
        ...

    def begin(self, slots: Ints, score: Floats) -> None:
        """Set the working set, and the scores of its rows."""
        ...

    def census(self, tol: float) -> Census:
        """Update the scores of all rows; count rows outside that violate by more than `tol`."""
        ...

    def choose(self, by: Choice) -> None:
        """Choose the working set anew, after a census."""
        ...

    def refresh(self) -> int:
        """Compute the scores of the working set in float64; return the number of kernel values."""
        ...

    def moved(self) -> Moved:
        """Return the rows of the working set now and at `begin`, and all that changed since."""
        ...


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

    def lend(self, array: Any) -> LentArray:
        """Return rows that a user passed in the memory of a device, without a copy on the host."""
        ...

    def hold(self, values: Any, centre: Floats | None, by: Map) -> Held:
        """Copy rows to the device.

        Parameters
        ----------
        values : ndarray, CSR or LentArray of shape (n, d)
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

    def work(
        self, by: Map, held: Held, rows: Ints, variables: Variables, near: float, double: bool
    ) -> Work:
        """Return a working set of held rows.

        Parameters
        ----------
        by : Map
        held : Held
        rows : ndarray
            Positions of its rows among those held.
        variables : Variables
        near : float
            Rows that violate by more, relative to the middle of the interval of biases, count as
            violators.
        double : bool
            True if scores are updated in float64.
        """
        ...

    def growing(self, work: Any) -> Growing:
        """Return a working set of all rows as one that begins with some of them, and grows."""
        ...

    def batch(
        self,
        by: Map,
        held: Held,
        rows: Ints,
        sizes: Ints,
        variables: Variables,
        near: float,
        width: int,
    ) -> Batch:
        """Return problems that are solved side by side.

        Parameters
        ----------
        by : Map
        held : Held
        rows : ndarray
            Positions of the rows of all problems among those held, of one after the other.
        sizes : ndarray
            Number of rows of each problem.
        variables : Variables
            Those of all problems.
        near : float
            As for `work`.
        width : int
            Largest number of rows of a block.
        """
        ...

    def release(self, kept: int = 0) -> None:
        """Return memory that is not in use to other processes, if it is more than `kept` bytes."""
        ...
