"""How an ensemble is trained, on what, and what comes of it."""

from __future__ import annotations

from dataclasses import dataclass

from widestreet._src.arrays import Floats
from widestreet._src.engines.multiplicative.engine import FixedRate, Projection
from widestreet._src.training.outcome import Trained


@dataclass(frozen=True)
class Plan:
    """How an ensemble is trained.

    Attributes
    ----------
    pace : Projection or FixedRate
    aggregate : str
        "ensemble", "last" or "parzen".
    rank : int, float or None
        Columns of the low-rank kernel, or the part of its trace that may be missing, or none.
    intercept : bool
        Whether 1 is added to all kernel values.
    prune : float
        What may be missing of the model, as a part of its length.
    part : float
        Of rho: the violation up to which a model is optimal.
    memory : int
        Bytes for kernel values.
    keep : bool
        Whether to keep all members.
    folds : int
        By which the size of an ensemble is chosen; less than two keep all members.
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


@dataclass(frozen=True, eq=False)
class Pair:
    """The rows of two classes.

    Attributes
    ----------
    sign : ndarray
        +1 and -1.
    prior : ndarray
        Positive weights.
    """

    sign: Floats
    prior: Floats


@dataclass(frozen=True, eq=False)
class Result:
    """What became of a pair.

    Attributes
    ----------
    trained : Trained
        Coefficients are weights times signs.
    stages : ndarray of shape (stages, n)
        The coefficients of the model after every step, if they were to be kept.
    size : int
        Members of the ensemble.
    missing : float
        How far the model may be from what it was before rows were left out, as a part of its
        length |w|.
    left : float
        The part of the trace of the kernel that its low-rank version does not have.
    """

    trained: Trained
    stages: Floats
    size: int
    missing: float
    left: float
