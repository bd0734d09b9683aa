"""One pair of classes of an ensemble: from rows to certified coefficients."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf, sqrt

import numpy as np

from widestreet.arrays import Floats, Ints
from widestreet.budget import Budget, OutOfBudget
from widestreet.certificate import Certificate, examine_margins, unexamined
from widestreet.engines.multiplicative import (
    FixedRate,
    MultiplicativeEngine,
    Projection,
    Trajectory,
    indefinite,
    unmoved,
)
from widestreet.estimators.training import ANSWER_WITHIN, Trained, stopped_by
from widestreet.gram import Gram
from widestreet.products import Held, LowRank, Product, Streamed
from widestreet.solution import Observer, Solution

_HELD = 0.5  # of the memory that the kernel matrix may take
_CHOSEN = {"ensemble": "ensemble", "last": "last", "parzen": "first"}  # by what it is called


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
    """

    pace: Projection | FixedRate
    aggregate: str
    rank: int | float | None
    intercept: bool
    prune: float
    part: float
    memory: int
    keep: bool


@dataclass(frozen=True, eq=False)
class Pair:
    """The rows of two classes.

    Attributes
    ----------
    sign : ndarray
        +1 and -1.
    prior : ndarray
        Positive weights.
    place : ndarray
        Where the rows stand among all of them.
    """

    sign: Floats
    prior: Floats
    place: Ints


@dataclass(frozen=True, eq=False)
class Result:
    """What became of a pair.

    Attributes
    ----------
    trained : Trained
        Coefficients are weights times signs.
    stages : ndarray of shape (stages, n)
        The coefficients of the model after every step, if they were to be kept.
    missing : float
        How far the model may be from what it was before rows were left out, as a part of its
        length |w|.
    left : float
        The part of the trace of the kernel that its low-rank version does not have.
    """

    trained: Trained
    stages: Floats
    missing: float
    left: float


def train_pair(
    gram: Gram, pair: Pair, plan: Plan, budget: Budget, observe: Observer, rng: np.random.Generator
) -> Result:
    """Train the ensemble of a pair of classes, and certify it with the exact kernel."""
    counted = gram.twin(budget.look_at_clock)
    budget.keep_back(gram.seconds_per_value * float(len(pair.sign)) ** 2)
    try:
        length = _length(counted, pair, plan)
        product = _product(counted, pair, plan, rng)
    except (OutOfBudget, KeyboardInterrupt) as stop:
        path, left = unmoved(pair.prior, stopped_by(stop)), 1.0
        weight, missing = path.first, 0.0
    else:
        path = _trajectory(counted, product, length, pair, plan, budget, observe)
        chosen = _CHOSEN[plan.aggregate]
        weight, square, left = getattr(path, chosen), path.rho[chosen], 0.0
        if isinstance(product, LowRank):
            square -= float(product.rest @ weight**2)
            left = product.left
        weight, missing = _pruned(weight, square, float(length.max()), plan.prune)
    trained = _certified(gram, pair, plan, budget, path, weight)
    values = counted.kernel_values + trained.solution.kernel_values
    trained = replace(trained, solution=replace(trained.solution, kernel_values=values))
    stages = pair.sign * _stages(path, plan) if plan.keep else np.zeros((0, len(weight)))
    return Result(trained, stages, missing, left)


def _trajectory(
    gram: Gram,
    product: Product,
    length: Floats,
    pair: Pair,
    plan: Plan,
    budget: Budget,
    observe: Observer,
) -> Trajectory:
    """Run the engine: not a single step for a Parzen window."""
    parzen = plan.aggregate == "parzen"
    return MultiplicativeEngine(
        _raised(product) if plan.intercept else product,
        pair.sign,
        pair.prior,
        Projection(start=0.0, least=1.0) if parzen else plan.pace,
        length=length,
        budget=budget,
        observer=observe,
        kernel_values=lambda: gram.kernel_values,
        keep=plan.keep,
    ).solve()


def _length(gram: Gram, pair: Pair, plan: Plan) -> Floats:
    """The root of K(x, x) for each row."""
    diagonal = gram.diag(pair.place)
    least = float(diagonal.min())
    if least < 0:
        raise indefinite(f"K(x, x) = {least:.3g}")
    return np.sqrt(diagonal + plan.intercept)


def _product(gram: Gram, pair: Pair, plan: Plan, rng: np.random.Generator) -> Product:
    """How kernel values meet weights."""
    n = len(pair.sign)
    if plan.rank is None:
        held = Held.memory(n) <= _HELD * plan.memory
        return Held.of(gram, pair.place) if held else Streamed(gram, pair.place)
    room = LowRank.most(n, plan.memory)
    whole = isinstance(plan.rank, int)
    asked = min(int(plan.rank), n) if whole else n
    if room < 1 or (whole and room < asked):
        raise ValueError(
            f"rank={plan.rank!r}: {n:,} rows need {LowRank.memory(n, max(asked, 1)):,} bytes for "
            f"it, but max_memory is {plan.memory:,}; lower rank or raise max_memory"
        )
    found = LowRank.of(gram, pair.place, min(asked, room), 0.0 if whole else plan.rank, rng)
    if not whole and room < n and found.left > plan.rank:
        raise ValueError(
            f"rank={plan.rank!r}: the {room:,} columns that max_memory={plan.memory:,} allows miss "
            f"{found.left:.3g} of the trace; raise rank or max_memory"
        )
    return found


def _raised(product: Product) -> Product:
    """The product with 1 + K."""
    return lambda coef: product(coef) + coef.sum()


def _pruned(weight: Floats, square: float, longest: float, most: float) -> tuple[Floats, float]:
    """Weights without the smallest, and how far that may move the model, in parts of its length.

    What is left out has at most the length of its weights times that of the longest row.

    Parameters
    ----------
    weight : ndarray
    square : float
        A lower bound on |w|^2.
    longest : float
        Length of the longest row.
    most : float
        How far the model may move.
    """
    if not 0 < square < inf:
        return weight, 0.0
    order = np.argsort(weight, kind="stable")
    lost = np.cumsum(weight[order]) * longest / sqrt(square)
    count = min(int(np.searchsorted(lost, most, side="right")), len(weight) - 1)
    kept = weight.copy()
    kept[order[:count]] = 0.0
    return kept, float(lost[count - 1]) if count else 0.0


def _certified(
    gram: Gram, pair: Pair, plan: Plan, budget: Budget, path: Trajectory, weight: Floats
) -> Trained:
    """The coefficients with their certificate: an empty one if there is no time for another."""
    status = path.status
    looked = gram.twin(budget.look_at_end)
    cost = gram.seconds_per_value * float(np.count_nonzero(weight)) * len(weight)
    certificate: Certificate | None = None
    if not (status == "interrupted" and cost > ANSWER_WITHIN):
        try:
            certificate = examine_margins(
                looked,
                pair.sign,
                weight,
                pair.place,
                offset=float(plan.intercept),
                status=status,
                part=plan.part,
            )
        except (OutOfBudget, KeyboardInterrupt) as stop:
            status = stopped_by(stop)
    if certificate is None:
        certificate = unexamined(status, -0.5 * path.rho[_CHOSEN[plan.aggregate]], 0.0)
    coef = pair.sign * weight
    bias = np.array([float(coef.sum()) if plan.intercept else 0.0])
    solution = Solution(
        beta=coef[None],
        bias=bias,
        dual_objective=certificate.dual_objective,
        status=status,
        trace=path.trace,
        pair_steps=max(1, path.steps),
        kernel_values=looked.kernel_values,
    )
    return Trained(solution, bias, certificate)


def _stages(path: Trajectory, plan: Plan) -> Floats:
    """Weights of the model after every step."""
    members = [weight for _, weight in path.members]
    if plan.aggregate == "last":
        return np.array([*members, path.last])
    if plan.aggregate == "parzen" or not members:
        return path.first[None]
    eta = np.array([eta for eta, _ in path.members])
    means: Floats = np.cumsum(eta[:, None] * np.array(members), axis=0) / np.cumsum(eta)[:, None]
    return means
