"""The interior-point engine: Mehrotra's predictor-corrector method on a factor of low rank.

Problem: the dual of dual.py with K = V V' (low_rank_factor.py). An iteration costs one product V'WV
and a few passes over V, whatever the boxes and the targets are. It is for problems on which pair
steps converge slowly: kernels of low rank, many bounded support vectors, large C.

    1) assemble     the Newton system at the present point (newton_system.py)
    2) predict      the step to complementarity zero; how far it goes determines the centring
    3) correct      the step to this centring, with the second-order terms of the prediction
    4) move         almost to the boundary
    5) record       and stop if the complementarity is small, or if rounding stops the progress

The last iterate is not exact: crossover.py moves variables to the bounds that they approach, and
the working-set engine continues from there.

Reference: Mehrotra, On the implementation of a primal-dual interior point method, SIAM Journal on
Optimization 2 (1992); Fine and Scheinberg, Efficient SVM training using low-rank kernel
representations, Journal of Machine Learning Research 2 (2001).
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np

from widestreet._src.arrays import Bools, Floats
from widestreet._src.engines.budget import Budget
from widestreet._src.engines.interior.iterate import Iterate, Step, first_iterate, scores
from widestreet._src.engines.interior.low_rank_factor import Factor
from widestreet._src.engines.interior.newton_system import NewtonSystem
from widestreet._src.engines.solution import Observer, Trace, TraceRecord
from widestreet._src.problems.dual import Dual

_MOST_ITERATIONS = 200
_SMALL = 1e-12  # complementarity and residuals relative to the objective, at which the method ends
_TO_BOUNDARY = 0.995  # part of the longest step
_IDLE = 15  # iterations without progress after which rounding is the limit
_NOTABLE = 0.8  # of the least error so far: a smaller one is progress


@dataclass(eq=False)
class InteriorEngine:
    """Interior-point iterations on one dual.

    Attributes
    ----------
    factor : Factor
    dual : Dual
    budget : Budget
    observe : callable
    best : Iterate
        Iterate with the least error so far.
    trace : Trace
    """

    factor: Factor
    dual: Dual
    budget: Budget
    observe: Observer
    trace: Trace = field(default_factory=Trace)

    def __post_init__(self) -> None:
        self.best = first_iterate(self.factor, self.dual)

    @np.errstate(over="ignore", divide="ignore", invalid="ignore")  # then the best iterate stays
    def solve(self) -> None:
        """Iterate until the errors are small or no longer decrease. Sets: best, trace.

        The best iterate is that with the least product of both errors, the complementarity and the
        violation: rounding makes one of them grow at the end.
        """
        at, least, product, idle = self.best, np.array([np.inf, np.inf]), np.inf, 0
        # with fixed sums the optimum may be zero, and nothing is small in comparison
        floor = float(at.inner @ at.inner) if self.dual.total.any() else 0.0
        begun = time.perf_counter()
        while True:
            self.budget.look_at_clock()
            score = scores(self.factor, self.dual, at.beta, at.inner)
            gap, scale = at.complementarity, max(floor, self._scale(at, score))
            record = self._record(at, score, begun)
            begun = time.perf_counter()
            errors = np.array([gap, gap / scale if scale > 0 else gap])
            idle = 0 if (errors < _NOTABLE * least).any() else idle + 1
            both = errors[1] * (errors[1] + record.violation / at.slope)
            if not both > product:
                self.best, product = at, both
            least = np.minimum(least, errors)
            if errors[1] <= _SMALL or idle >= _IDLE or len(self.trace) > _MOST_ITERATIONS:
                return
            try:
                at = self._next(at, score)
            except np.linalg.LinAlgError:
                return
            if not np.isfinite(at.beta).all():
                return

    def _next(self, at: Iterate, score: Floats) -> Iterate:
        """Return the next iterate."""
        # 1) assemble
        movable, dual = at.movable, self.dual
        residual = score - dual.target - at.multiplier[dual.group] - at.zl + at.zu
        slope = np.where(movable, at.zl / at.sl + at.zu / at.su, np.inf)
        theta = 1.0 / slope
        system = NewtonSystem.of(self.factor, dual, theta)

        def direction(cl: Floats, cu: Floats) -> Step:
            beta, multiplier, inner = system.solve(cl / at.sl - cu / at.su - residual)
            zl, zu = (cl - at.zl * beta) / at.sl, (cu + at.zu * beta) / at.su
            zl, zu = np.where(movable, zl, 0.0), np.where(movable, zu, 0.0)
            return Step(beta, multiplier, inner, zl, zu)

        # 2) predict
        product_l, product_u = at.zl * at.sl, at.zu * at.su
        step = direction(-product_l, -product_u)
        now = at.complementarity
        ahead = at.moved(step.longest(at), step).complementarity
        target = now / at.count * min(1.0, max(0.0, ahead / now)) ** 3
        # 3) correct
        step = direction(
            target - product_l - step.beta * step.zl, target - product_u + step.beta * step.zu
        )
        # 4) move
        return at.moved(min(1.0, _TO_BOUNDARY * step.longest(at)), step)

    def _scale(self, at: Iterate, score: Floats) -> float:
        """Return the size of the objective."""
        linear, norm = (self.dual.target * at.beta).sum(), at.beta.sum(axis=0) @ score
        return abs(float(linear)) + abs(float(norm))

    def _record(self, at: Iterate, score: Floats, begun: float) -> TraceRecord:
        """Record the iteration and pass the record to the observer. Sets: trace."""
        dual = self.dual
        lower, upper = at.bounds_approached()
        zero = np.where(dual.upper > 0, lower, upper) | (at.beta == 0)
        record = TraceRecord(
            round=len(self.trace) + 1,
            working_set=dual.rows,
            n_sv=int(np.count_nonzero(~zero.all(axis=0))),
            n_free=int(np.count_nonzero((at.movable & ~lower & ~upper).any(axis=0))),
            violation=_violation(dual, score, ~upper & at.movable, ~lower & at.movable),
            dual_objective=dual.objective(at.beta, score),
            gap=at.complementarity,
            rows_scanned=dual.rows,
            rows_skipped=0,
            kernel_values=self.factor.poll.kernel_values,
            pair_steps=0,
            seconds=self.budget.elapsed,
            timings={"interior": time.perf_counter() - begun},
        )
        self.trace.append(record)
        self.observe(record)
        return record


def _violation(dual: Dual, score: Floats, may_grow: Bools, may_shrink: Bools) -> float:
    """Return the violation, as if every variable were at the bound that it approaches."""
    F, worst = dual.indicator(score), 0.0
    for g in range(dual.groups):
        mine = dual.group == g
        high = np.max(F, where=mine & may_grow, initial=-np.inf)
        low = np.min(F, where=mine & may_shrink, initial=np.inf)
        worst = max(worst, float(high - low))
    return worst
