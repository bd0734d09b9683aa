"""Parameters, data and result of the training of an ensemble."""

from __future__ import annotations

from dataclasses import dataclass

from widestreet._src.arrays import Floats
from widestreet._src.engines.multiplicative.exponentiated_gradient import FixedRate, Projection
from widestreet._src.training.trained import Trained


@dataclass(frozen=True)
class Plan:
    """Parameters of the training of an ensemble.

    Attributes
    ----------
    pace : Projection or FixedRate
    aggregate : str
        "ensemble", "last" or "parzen".
    rank : int, float or None
        Rank of the kernel approximation, or the fraction of the trace that it may miss; None for
        the exact kernel.
    intercept : bool
        True if 1 is added to all kernel values.
    prune : float
        Bound on the change of the model by pruning, relative to |w|.
    part : float
        Violation, relative to rho, up to which a model is optimal.
    memory : int
        Memory limit in bytes.
    keep : bool
        True if all members are kept.
    folds : int
        Number of folds that determine the size of an ensemble; below two it has all members.
    until_chosen : bool
        True if training ends when the ensemble of the best size is known.
    streamed : bool
        True if a device computes the kernel matrix again in every step, faster than memory is read.
    """

    pace: Projection | FixedRate
    aggregate: str
    rank: int | float | None
    intercept: bool
    prune: float
    part: float
    memory: int
    keep: bool
    folds: int
    until_chosen: bool = False
    streamed: bool = False


@dataclass(frozen=True, eq=False)
class Pair:
    """Signs and prior weights of the rows of two classes.

    Attributes
    ----------
    sign : ndarray
        Classes of the rows, +1 and -1.
    prior : ndarray
        Positive weights of the rows.
    """

    sign: Floats
    prior: Floats


@dataclass(frozen=True, eq=False)
class Result:
    """Result of the training of a pair of classes.

    Attributes
    ----------
    trained : Trained
        Solution whose coefficients are weights times signs.
    stages : ndarray of shape (stages, n)
        Coefficients of the model after every step, if they are kept.
    steps : int
        Number of multiplicative steps.
    size : int
        Number of members of the ensemble.
    missing : float
        Bound on the change of the model by pruning, relative to |w|.
    left : float
        Fraction of the trace of the kernel matrix that its approximation misses.
    """

    trained: Trained
    stages: Floats
    steps: int
    size: int
    missing: float
    left: float

    def replaces(self, other: Result) -> bool:
        """Return whether this took at least as many steps as another, and is certified if it is."""
        mine, theirs = self.trained.certificate, other.trained.certificate
        return self.steps >= other.steps and mine.n_rows >= theirs.n_rows
