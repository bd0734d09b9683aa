"""Training of the ensembles of all pairs of classes."""

from __future__ import annotations

from collections.abc import Callable as Function
from dataclasses import replace
from functools import partial
from math import inf, sqrt

import numpy as np

from widestreet._src.arrays import Codes, Floats
from widestreet._src.certificate import Certificate, examine_margins
from widestreet._src.engines.budget import Budget, OutOfBudget
from widestreet._src.engines.multiplicative.exponentiated_gradient import (
    Trajectory,
    indefinite,
    unmoved,
)
from widestreet._src.engines.solution import Observer, Solution
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.gram_products import Held, LowRank, Product, Streamed
from widestreet._src.kernels.kernels import Kernel
from widestreet._src.kernels.poll import Poll
from widestreet._src.problems.class_pairs import PairLayout
from widestreet._src.reporting.observers import Observers
from widestreet._src.rows import Merged, Rows
from widestreet._src.shards.point import Point
from widestreet._src.status import Status
from widestreet._src.threads import limited_blas
from widestreet._src.training.ensemble_plan import Pair, Plan, Result
from widestreet._src.training.ensemble_size import Training
from widestreet._src.training.examiner import ANSWER_WITHIN
from widestreet._src.training.settings import Resources, threads_for
from widestreet._src.training.trained import Trained, labelled, stopped_by

_SAFETY = 1.5  # of the time reserved for a certificate
_WORTH_A_RESTART = 1.5  # times the time that a pair had: with more, it starts again
_KERNEL_MATRIX_SHARE = 0.5  # of the memory limit that a stored kernel matrix may take


def train_ensembles(
    kernel: Kernel,
    rows: Rows,
    merged: Merged,
    code: Codes,
    plan: Plan,
    resources: Resources,
    observers: Observers,
) -> list[Result]:
    """Train the ensembles of all pairs of classes, each with an equal share of the remaining time.

    Time that is left after the last pair goes to the pairs that it ended, which start again.

    Parameters
    ----------
    kernel : Kernel
    rows : Rows
        All rows.
    merged : Merged
        The distinct rows and their weights.
    code : ndarray
        Class index of each distinct row.
    plan : Plan
    resources : Resources
    observers : Observers
    """
    pairs = _pairs_of(kernel, rows, merged, code, resources)
    every, found, spent = Budget(resources.max_time), list[Result](), list[float]()

    def trained(p: int, share: float, observe: Observer) -> Result:
        budget = every.part(share, max_steps=resources.max_steps)
        one = train_pair(*pairs[p], plan, budget, observe, resources.rng, every.look_at_end)
        every.stopped |= one.trained.solution.status == Status.INTERRUPTED
        solution = labelled(one.trained.solution, p)
        return replace(one, trained=replace(one.trained, solution=solution))

    with limited_blas(1):
        for p in range(len(pairs)):
            begun = every.elapsed
            with observers.problem(p) as observe:
                found.append(trained(p, 1 / (len(pairs) - p), observe))
            spent.append(every.elapsed - begun)
        late = [p for p, one in enumerate(found) if _ended_by_time(one) and not every.stopped]
        for k, p in enumerate(late):
            share = 1 / (len(late) - k)
            if (every.remaining() or 0.0) * share > _WORTH_A_RESTART * spent[p]:
                again = trained(p, share, observers.again(p))
                if again.replaces(found[p]):
                    found[p] = again
    return found


def held_out_error(
    kernel: Kernel,
    rows: Rows,
    merged: Merged,
    code: Codes,
    plan: Plan,
    resources: Resources,
    budget: Budget,
) -> float:
    """Return the weight of the held-out rows that the ensembles of all pairs misclassify.

    The parameters are those of `train_ensembles`. The result is infinite if a class has too few
    rows for folds. OutOfBudget is raised if the time is over.
    """
    total = 0.0
    with limited_blas(1):
        for gram, pair in _pairs_of(kernel, rows, merged, code, resources):
            poll = Poll(budget.look_at_clock)
            product = _product(gram, pair, plan, resources.rng, poll)
            part = budget.part(max_steps=resources.max_steps)
            counted = partial(getattr, poll, "kernel_values")
            training = Training(pair, plan, product, _length(gram, plan), part, counted)
            path = training.engine(None).solve()
            _, error, status = training.best_size(path, training.folds(path.margin))
            if status == Status.INTERRUPTED:
                raise KeyboardInterrupt
            if status == Status.TIME_LIMIT:
                raise OutOfBudget(status)
            total += error
    return total


def _pairs_of(
    kernel: Kernel, rows: Rows, merged: Merged, code: Codes, resources: Resources
) -> list[tuple[Gram, Pair]]:
    """Return the rows, the signs and the prior weights of each pair of classes."""
    layout = PairLayout(int(np.max(code)) + 1)
    members = [np.flatnonzero(code == c) for c in range(layout.classes)]
    largest = sum(sorted(len(part) for part in members)[-2:])
    gram = Gram(kernel, rows, threads=threads_for(largest, resources))
    found = []
    for i, j in layout.pairs:
        both = np.concatenate([members[i], members[j]])
        sign = np.where(code[both] == i, layout.sign_of_first, -layout.sign_of_first)
        found.append((gram.select(merged.kept[both]), Pair(sign, merged.box[both])))
    return found


def _ended_by_time(result: Result) -> bool:
    return result.trained.solution.status == Status.TIME_LIMIT


def train_pair(
    gram: Gram,
    pair: Pair,
    plan: Plan,
    budget: Budget,
    observe: Observer,
    rng: np.random.Generator,
    look: Function[[], None] | None = None,
) -> Result:
    """Train the ensemble of a pair of classes, and certify it with the exact kernel.

    `look` ends the examination; by default the budget of the pair does.
    """

    def look_at_clock() -> None:
        _keep_back(budget, gram, len(pair.sign))  # at the present pace of kernel values
        budget.look_at_clock()

    poll = Poll(look_at_clock)
    left, missing = 1.0, 0.0
    try:
        length = _length(gram, plan)
        product = _product(gram, pair, plan, rng, poll)
        look_at_clock()
    except (OutOfBudget, KeyboardInterrupt) as stop:
        path = unmoved(pair.prior, stopped_by(stop))
        weight, square, size = path.first, inf, 1
    else:
        left = product.left if isinstance(product, LowRank) else 0.0
        training = Training(pair, plan, product, length, budget, lambda: poll.kernel_values)
        path, size = training.solve(observe)
        weight, square = _chosen(path, plan, size)
        part = square - float(product.rest @ weight**2) if isinstance(product, LowRank) else square
        weight, missing = _pruned(weight, part, float(length.max()), plan.prune)
    look = budget.look_at_end if look is None else look
    trained = _certified(gram, pair, plan, look, path, weight, square)
    values = poll.kernel_values + trained.solution.kernel_values
    trained = replace(trained, solution=replace(trained.solution, kernel_values=values))
    stages = pair.sign * _stages(path, plan) if plan.keep else np.zeros((0, len(weight)))
    return Result(trained, stages, path.steps, size, missing, left)


def _keep_back(budget: Budget, gram: Gram, rows: int) -> None:
    """Reserve the time of a certificate in which every row has a weight. Sets: budget."""
    budget.keep_back(_SAFETY * gram.seconds_per_value * float(rows) ** 2)


def _chosen(path: Trajectory, plan: Plan, size: int) -> tuple[Floats, float]:
    """Return the weights of the model and their a'Qa."""
    if plan.aggregate == "ensemble":
        return path.means[size]
    which = "last" if plan.aggregate == "last" else "first"
    return getattr(path, which), path.rho[which]


def _length(gram: Gram, plan: Plan) -> Floats:
    """Return sqrt(K(x, x)) of each row."""
    diagonal = gram.diag()
    least = float(diagonal.min())
    if least < 0:
        raise indefinite(f"K(x, x) = {least:.3g}")
    return np.sqrt(diagonal + plan.intercept)


def streams(rows: int, plan: Plan) -> bool:
    """Return whether the kernel matrix is computed again in every step."""
    large = Held.memory(rows) > _KERNEL_MATRIX_SHARE * plan.memory
    return plan.rank is None and (plan.streamed or large)


def _product(gram: Gram, pair: Pair, plan: Plan, rng: np.random.Generator, poll: Poll) -> Product:
    """Return the product with the kernel matrix: stored, streamed or of low rank."""
    n = len(pair.sign)
    if plan.rank is None:
        return Streamed(gram, poll) if streams(n, plan) else Held.of(gram, poll)
    room = LowRank.most(n, plan.memory)
    whole = isinstance(plan.rank, int)
    asked = min(int(plan.rank), n) if whole else n
    if room < 1 or (whole and room < asked):
        raise ValueError(
            f"rank={plan.rank!r} needs {LowRank.memory(n, max(asked, 1)):,} bytes for {n:,} rows, "
            f"but max_memory is {plan.memory:,}; lower rank or raise max_memory"
        )
    found = LowRank.of(gram, min(asked, room), 0.0 if whole else plan.rank, rng, poll)
    if not whole and room < n and found.left > plan.rank:
        raise ValueError(
            f"rank={plan.rank!r}: the {room:,} columns that max_memory={plan.memory:,} allows miss "
            f"a fraction {found.left:.3g} of the trace; raise rank or max_memory"
        )
    return found


def _pruned(weight: Floats, square: float, longest: float, most: float) -> tuple[Floats, float]:
    """Set the smallest weights to zero; return a bound on the relative change of the model.

    The norm of the removed part is at most the sum of its weights times the norm of the longest
    row.

    Parameters
    ----------
    weight : ndarray
    square : float
        Lower bound on |w|^2.
    longest : float
        Norm of the longest row.
    most : float
        Largest relative change allowed.
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
    gram: Gram,
    pair: Pair,
    plan: Plan,
    look: Function[[], None],
    path: Trajectory,
    weight: Floats,
    square: float,
) -> Trained:
    """Return the coefficients with their certificate, an empty one if there is no time."""
    status = path.status
    poll = Poll(look)
    cost = gram.seconds_per_value * float(np.count_nonzero(weight)) * len(weight)
    certificate: Certificate | None = None
    if not (status == Status.INTERRUPTED and cost > ANSWER_WITHIN):
        try:
            certificate = examine_margins(
                gram,
                pair.sign,
                weight,
                offset=float(plan.intercept),
                status=status,
                part=plan.part,
                poll=poll,
            )
        except (OutOfBudget, KeyboardInterrupt) as stop:
            status = stopped_by(stop)
    if certificate is None:
        certificate = Certificate.unexamined(status, -0.5 * square, 0.0)
    coef = pair.sign * weight
    bias = np.array([float(coef.sum()) if plan.intercept else 0.0])
    solution = Solution(
        point=Point.of(coef[None]),
        rows=len(coef),
        bias=bias,
        dual_objective=certificate.dual_objective,
        status=status,
        trace=path.trace,
        pair_steps=0,
        kernel_values=poll.kernel_values,
    )
    return Trained(solution, bias, certificate)


def _stages(path: Trajectory, plan: Plan) -> Floats:
    """Return the weights of the model after every step."""
    members = [weight for _, weight in path.members]
    if plan.aggregate == "last":
        return np.array([*members, path.last])
    if plan.aggregate == "parzen" or not members:
        return path.first[None]
    eta = np.array([eta for eta, _ in path.members])
    means: Floats = np.cumsum(eta[:, None] * np.array(members), axis=0) / np.cumsum(eta)[:, None]
    return means
