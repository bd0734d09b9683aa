"""The working-set engine: a coordinator over shards.

It holds the working set (rows with their kernel tile) and the model (all support vectors), and
nothing as long as the data. A round is

    1) propose    the strategy says which rows leave and which enter the working set
    2) solve      the dual restricted to the working set
    3) publish    the new model
    4) survey     the shards look for rows that violate its optimality conditions
    5) finish?    when the surveys find nothing, the certificate looks at every row;
                  if it disagrees, its scores are taken over and, where float32 kernel values are
                  the reason, the precision is raised

The dual objective never falls from round to round.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from widestreet._src.arrays import Bools, Floats, Ints
from widestreet._src.engines.budget import Budget, OutOfBudget
from widestreet._src.engines.selection.contract import MARGIN, Notes, Proposal, Situation, Strategy
from widestreet._src.engines.solution import Observer, Solution, Trace, TraceRecord
from widestreet._src.engines.working_set.newton import polish
from widestreet._src.engines.working_set.newton_schedule import FEW_FREE, Pacing
from widestreet._src.engines.working_set.tile import WorkingSet, tiles_memory
from widestreet._src.shards.expansion import Expansion
from widestreet._src.shards.shard import Survey, SurveyOrder
from widestreet._src.shards.shard_set import ShardSet
from widestreet._src.status import Status

log = logging.getLogger("widestreet")

_DOUBLE_ROWS = 2048  # problems up to this size are float64 throughout: it costs nothing there
_BLOCK = 2048  # rows up to which a working set is one block of pair steps
_AFTERWARDS = 500  # pair steps on the whole set after a Newton step: often it needs no more
_LARGEST = 0.75  # of a larger working set: the largest block
_SKIP_SAFETY = 1.001  # lengths are computed from float32 kernel values
_MANY_STEPS = 10_000_000  # pair steps in a round, after which the check is asked
_IDLE_ROUNDS = 5  # rounds without progress after which the check is asked
_NO_GAIN = 1e-14  # relative gain of the objective that is rounding
_ROUNDING_OF_GAIN = 1e-10  # of the objective and of the terms of a gain: a fall by less is rounding
_IDLE_CALLS = 8  # calls without progress after which a working set is as good as it gets
_DOUBTED = 256  # rows of the working set whose scores are looked at in every round
_FEW = 0.02  # of the working set: newcomers for whom it is not worth polishing, nor a look
_LOOK_AHEAD = 0.01  # of the violation: what float32 must resolve before the next look
_COARSE = 0.1  # part of tol by which float32 scores may be off
_BOLD = 0.1  # part of the most that scores can have moved, as long as a check is to come
_STRANGERS = 256  # random rows that are drawn beside those to begin with
_PATIENCE = 3  # exact looks without progress before the engine gives up


@dataclass(frozen=True, eq=False)
class Check:
    """An independent examination of a point.

    Attributes
    ----------
    violation : float
        Over all rows.
    score : ndarray of shape (n,)
    exact : ndarray of bool, shape (n,)
        Which scores are in float64.
    next_violation : float or None
        The violation to aim at next; None when the point is as good as it has to be.
    """

    violation: float
    score: Floats
    exact: Bools
    next_violation: float | None


class WorkingSetEngine:
    """Solves the dual whose rows lie in the shards of a fleet.

    Parameters
    ----------
    fleet : ShardSet
    strategy : Strategy
    tol : float
        Violation to reach over all rows.
    check : callable or None
        Takes beta of shape (layers, n) and returns a Check. The engine trusts it over its own
        surveys; None leaves the last word to the caller.
    budget : Budget
    capacity : int
        Rows the working set may hold.
    observer : callable
        Called with the record of each round.
    rng : numpy.random.Generator
    threads : int
        For the working set.
    skip : bool
        Whether surveys may skip rows.
    start : ndarray of shape (layers, n), optional
        A feasible point to begin at.
    first : ndarray, optional
        Rows to begin with, beside those that the strategy draws.
    """

    def __init__(
        self,
        fleet: ShardSet,
        strategy: Strategy,
        *,
        tol: float,
        check: Callable[[Floats], Check] | None,
        budget: Budget,
        capacity: int,
        observer: Observer,
        rng: np.random.Generator,
        threads: int = 1,
        skip: bool = True,
        start: Floats | None = None,
        first: Ints | None = None,
    ) -> None:
        self.fleet, self.search, self.tol = fleet, strategy.search(), tol
        self.check, self.budget, self.observer, self.rng = check, budget, observer, rng
        self.start, self.first = start, first
        self.skip = skip and fleet.gram.kernel.positive
        self.capacity = min(capacity, fleet.rows)
        self.work = WorkingSet(
            fleet.gram, fleet.dual, self.capacity, threads, tiles_memory(capacity), fleet.poll
        )
        self.model = Expansion(fleet.dual.groups)
        self.trace = Trace()
        self.pair_steps = 0
        self.timings: dict[str, float] = {}
        self._steps_last_round = 0
        self._moved = False  # whether the last newcomers changed anything
        self._caution = _BOLD  # when surveys skip rows
        self._newcomers = 0  # since scores were looked at
        self._tired = False  # whether the last solve was given up
        self._pacing = Pacing()
        self._best_objective, self._best_violation, self._idle = -np.inf, np.inf, 0
        self._best_refreshed, self._refused = np.inf, 0
        self._before: tuple[Floats, Floats] | None = None  # where the present solve began
        self._linear = self._norm = 0.0  # t'beta and c'Kc of the model
        if fleet.rows <= _DOUBLE_ROWS or not fleet.gram.fits_float32:
            fleet.use_double()
            self.work.use_double()

    # -- the loop --------------------------------------------------------------------------------

    def solve(self) -> Solution:
        """Run rounds until the check agrees, the budget is spent or nothing moves any more."""
        try:
            status = self._rounds()
        except OutOfBudget as stop:
            status = stop.status
        except KeyboardInterrupt:
            status = Status.INTERRUPTED
        if self._before is not None:  # stopped in the middle of a solve: what it reached counts
            self._publish()
        return Solution(
            beta=self.fleet.collect(),
            bias=self.model.bias,
            dual_objective=self._linear - 0.5 * self._norm,
            status=status,
            trace=self.trace,
            pair_steps=self.pair_steps,
            kernel_values=self.fleet.poll.kernel_values,
        )

    def _rounds(self) -> Status:
        survey = self._start()
        best_check, failures = np.inf, 0
        violation = self.fleet.first_violation()
        while True:
            # 1) propose
            situation = self._situation(survey, violation)
            proposal = self.search.propose(situation, self.rng)
            size = self.work.size
            self._exchange(proposal)
            # 2) solve, 3) publish
            self._solve_working_set(proposal.inner_tol)
            if len(proposal.add):
                self._moved = self._steps_last_round > 0
            self._publish()
            self._doubt(violation)
            # 4) survey
            survey = self._survey(proposal.survey)
            violation = self._violation(survey)
            looked = len(situation.violators) == 0 and survey.scanned > 0  # and did nothing else
            busy = looked or proposal.patient or self.work.size > size
            situation = self._situation(survey, violation)
            self._record(survey, violation, self.search.observe(situation))
            # 5) finish?
            if self.search.enough(situation):
                return Status.APPROXIMATE
            stuck = self._tired or self._stuck(violation, busy)
            if not stuck and not self.search.finished(situation):
                continue
            if not stuck and self._still_violates():
                continue
            if self.check is None:
                if self._caution < 1.0:  # nobody else looks at every row
                    survey = self._survey_safely()
                    violation = self._violation(survey)
                if violation <= self.tol:
                    return Status.OPTIMAL
                if stuck:
                    return Status.STALLED
                continue
            verdict = self._consult(self.check)
            if verdict.next_violation is None:
                return Status.OPTIMAL
            self.tol = min(self.tol, verdict.next_violation)
            log.debug("check: violation %.3g, %.3g wanted", verdict.violation, self.tol)
            failures = 0 if verdict.violation < 0.5 * best_check else failures + 1
            best_check = min(best_check, verdict.violation)
            if failures >= (1 if self._tired else _PATIENCE):
                return Status.STALLED
            self._idle = 0
            survey = self._accept(verdict)
            violation = verdict.violation

    # -- the steps -------------------------------------------------------------------------------

    def _start(self) -> Survey:
        """Begin at the point given, at zero, or where that is none, at a feasible point.

        Returns the first rows.
        """
        fleet, model = self.fleet, self.model
        beta = self.start
        if beta is None and fleet.dual.total.any():
            beta = fleet.feasible_point()
        if beta is not None and beta.any():
            fleet.start_from(beta)
            ids = np.flatnonzero(beta.any(axis=0))
            model.publish(ids, beta[:, ids].sum(axis=0), model.bias, np.inf)
            self._linear, self._norm = fleet.linear(beta), np.inf  # until it is known
            self._norm = float(model.coef @ fleet.evaluate(model.ids, model))
        size = self.search.start(fleet.rows, self.capacity)
        if self.first is None or size >= fleet.rows:
            ids = self.search.draw(fleet, size, self.rng)
        else:
            first = self.first[: self.capacity]
            strangers = min(size, _STRANGERS, self.capacity - len(first))
            size = strangers if self.start is not None else max(size - len(first), strangers)
            drawn = self.search.draw(fleet, size, self.rng)
            ids = np.union1d(first[: self.capacity - len(drawn)], drawn)
        empty, n = np.empty(0), len(ids)
        return Survey(ids, np.ones(n), empty, empty, 0.0, 0, 0, complete=False, found=n, visited=0)

    def _situation(self, survey: Survey, violation: float) -> Situation:
        work = self.work
        return Situation(
            round=len(self.trace),
            rows=self.fleet.rows,
            capacity=self.capacity,
            tol=self.tol,
            violation=violation,
            ids=work.ids[work.present],
            support=np.asarray(work.beta[:, work.present].any(axis=0)),
            free=np.asarray(work.free().any(axis=0)),
            newest=work.entered[work.present] == work.admissions,
            moved=self._moved,
            slack=work.slack(self.model.bias),
            violators=survey.ids,
            excess=survey.violation,
            found=survey.found,
            visited=survey.visited,
            complete=survey.complete,
        )

    def _exchange(self, proposal: Proposal) -> None:
        """Rows leave and enter the working set."""
        begun = time.perf_counter()
        work, fleet = self.work, self.fleet
        leaving = np.flatnonzero(proposal.drop)
        if len(leaving):
            fleet.release(
                work.ids[leaving], work.beta[:, leaving], work.score[leaving], self.model.version
            )
        self._newcomers += len(proposal.add)
        if len(proposal.add):
            work.exchange(proposal.drop, fleet.take(np.sort(proposal.add), self.model))
        else:
            work.exchange(proposal.drop)
        self._clock("exchange", begun)

    def _solve_working_set(self, tol: float) -> None:
        """Pair steps to `tol`, with Newton steps when they get slow.

        Sets: beta and score of the working set.
        """
        begun = time.perf_counter()
        work = self.work
        self._before = work.beta[:, work.present].copy(), work.score[work.present].copy()
        violation, best, idle, taken, self._tired = np.inf, np.inf, 0, 0, False
        direct = 2 * work.size if self._steps_last_round <= 3 * work.size else 0
        block = max(_BLOCK, int(_LARGEST * work.size))
        self._pacing.begin()
        while violation > tol:
            self._keep_time()
            self.budget.look_at_clock()
            steps = min(self.budget.steps_left, self._pacing.allowance(work, tol))
            violation, steps = work.solve(tol, steps, block, direct)
            direct = max(0, direct - steps)
            taken += steps
            self.pair_steps += steps
            self.budget.spend(steps, finished=violation <= tol)
            if steps == 0:
                break
            self._pacing.spend(steps)
            idle = 0 if violation < 0.9 * best else idle + 1
            best = min(best, violation)
            self._tired = taken > max(_MANY_STEPS, 100 * work.size)
            if idle >= _IDLE_CALLS or self._tired:
                break
            if violation > tol and self._pacing.due:
                self._pacing.newton(work, tol, violation)
                direct = _AFTERWARDS
        self._steps_last_round = taken
        exact = tol <= MARGIN * self.tol and not self._few_came
        if exact and work.free().sum() <= FEW_FREE:
            polish(work)  # costs next to nothing and leaves the free variables exact
        self._clock("solve", begun)

    @property
    def _few_came(self) -> bool:
        """Whether rows come a few at a time, and have not yet become many."""
        return 0 < self._newcomers < _FEW * self.work.size

    def _keep_time(self) -> None:
        """Keep time back for a certificate of the model as it is now, if it is ours to ask for."""
        if self.check is None:
            return
        support = max(len(self.model.ids), int(np.count_nonzero(self.work.coef())))
        seconds = 3.0 * self.fleet.gram.seconds_per_value  # float32 first, float64 after it
        self.budget.keep_back(seconds * self.fleet.rows * support)

    def _publish(self) -> None:
        """Make the state of the working set the model."""
        assert self._before is not None
        (beta, score), self._before = self._before, None
        work, model = self.work, self.model
        now, ids = work.beta[:, work.present], work.ids[work.present]
        change, moved = now - beta, work.score[work.present] - score
        coef = change.sum(axis=0)
        length = float(np.sqrt(max(0.0, float(coef @ moved))))
        linears, norms = work.target[:, work.present] * change, coef * (2.0 * score + moved)
        linear, norm = float(linears.sum()), float(norms.sum())
        size = float(np.abs(linears).sum() + 0.5 * np.abs(norms).sum())
        size = max(size, abs(self._linear - 0.5 * self._norm))
        if linear - 0.5 * norm < -_ROUNDING_OF_GAIN * size:
            log.debug("rounding made the objective fall by %.3g: undone", 0.5 * norm - linear)
            work.beta[:, work.present], work.score[work.present] = beta, score
            self._moved = False
            if work.double:
                self._tired = True
            else:
                self._raise_precision(0.5 * norm - linear)
                self._refresh_working_set()
            return
        self._linear += linear
        self._norm += norm
        self.fleet.store(ids, now)
        inside = work.coef() != 0
        outside = ~np.isin(model.ids, ids)
        model.publish(
            np.concatenate([ids[inside], model.ids[outside]]),
            np.concatenate([work.coef()[inside], model.coef[outside]]),
            self._bias(),
            _SKIP_SAFETY * length,
        )

    def _bias(self) -> Floats:
        """The middle of each group's interval; its one end, or the last bias, where it is open."""
        highest, lowest = self.work.extremes()
        bias = np.where(np.isfinite(highest), highest, lowest)
        both = np.isfinite(highest) & np.isfinite(lowest)
        bias[both] = 0.5 * (highest[both] + lowest[both])
        found: Floats = np.where(np.isfinite(bias), bias, self.model.bias)
        return found

    def _survey(self, order: SurveyOrder) -> Survey:
        begun = time.perf_counter()
        self._keep_time()
        order = replace(order, skip=order.skip and self.skip, caution=self._caution)
        survey = self.fleet.survey(self.model, order, self.rng)
        self._clock("survey", begun)
        return survey

    def _survey_safely(self) -> Survey:
        """All rows but those that cannot violate, now and from here on. Sets: caution."""
        self._caution = 1.0
        return self._survey(SurveyOrder(self.capacity, MARGIN * self.tol, whole=True))

    def _violation(self, survey: Survey) -> float:
        """Largest violation over the working set and the rows surveyed."""
        highest, lowest = self.work.extremes()
        gap = np.maximum(highest, survey.highest) - np.minimum(lowest, survey.lowest)
        return max(0.0, float(gap.max()))

    def _still_violates(self) -> bool:
        """Whether exact scores show a violation in the working set, and it is worth going on.

        If the set is the whole problem in float64, the check itself is no dearer than this look.
        """
        if self.work.double and self.work.size == self.fleet.rows:
            return False
        violation = self._refresh_working_set()
        self._refused = 0 if violation < 0.5 * self._best_refreshed else self._refused + 1
        self._best_refreshed = min(self._best_refreshed, violation)
        return violation > self.tol and self._refused < _PATIENCE

    def _refresh_working_set(self) -> float:
        """Exact scores for the working set; returns the violation they show.

        Pair steps add up the rounding of float32 kernel values. Looking at the working set first
        costs little and spares a check of all rows that would fail.
        """
        work = self.work
        exact = self.fleet.evaluate(work.ids[work.present], self.model)
        self._take_over(exact)
        highest, lowest = work.extremes()
        return float(np.max(highest - lowest))

    def _take_over(self, exact: Floats) -> None:
        """Exact scores for the working set, in float64 from here on if they are news."""
        work = self.work
        error = float(np.abs(exact - work.score[work.present]).max())
        work.score[work.present] = exact
        if error > _COARSE * self.tol and not work.double:
            self._raise_precision(error)

    def _doubt(self, violation: float) -> None:
        """Compare some scores with exact ones; change to float64 where they are too coarse.

        Scores that are off by much less than the violations at stake do no harm, so that early
        rounds are float32 whatever comes later. Sets: newcomers.
        """
        work = self.work
        if self._few_came:
            return
        self._newcomers = 0
        if work.double:
            return
        sample = self.rng.choice(work.size, min(work.size, _DOUBTED), replace=False)
        exact = self.fleet.evaluate(work.ids[sample], self.model)
        error = float(np.abs(exact - work.score[sample]).max())
        if error > _COARSE * max(self.tol, _LOOK_AHEAD * violation):
            self._raise_precision(error)
            self._refresh_working_set()

    def _raise_precision(self, error: float) -> None:
        """Compute kernel values in float64 from here on."""
        log.debug("scores were off by %.3g: kernel values in float64 from here", error)
        self.fleet.use_double()
        self.work.use_double()

    def _stuck(self, violation: float, busy: bool) -> bool:
        """Whether neither the objective nor the violation has moved for some rounds.

        A round that only looked at more rows, or that has more of them in the working set, was
        busy: it has not failed to move them.
        """
        objective = self._linear - 0.5 * self._norm
        gained = objective - self._best_objective > _NO_GAIN * abs(objective)
        if gained or violation < 0.9 * self._best_violation:
            self._idle = 0
        else:
            self._idle += not busy
        self._best_objective = max(self._best_objective, objective)
        self._best_violation = min(self._best_violation, violation)
        return self._idle >= _IDLE_ROUNDS

    def _consult(self, check: Callable[[Floats], Check]) -> Check:
        begun = time.perf_counter()
        verdict = check(self.fleet.collect())
        self._clock("check", begun)
        return verdict

    def _accept(self, verdict: Check) -> Survey:
        """Go on from exact scores, in float64 if float32 kernel values were the trouble."""
        work, fleet, model = self.work, self.fleet, self.model
        ids = work.ids[work.present]
        exact = verdict.score[ids].copy()
        unknown = np.flatnonzero(~verdict.exact[ids])
        exact[unknown] = fleet.evaluate(ids[unknown], model)
        self._take_over(exact)
        fleet.refresh(verdict.score, verdict.exact, model.version)
        self._norm = float(model.coef @ verdict.score[model.ids])
        model.bias = self._bias()
        return self._survey_safely()

    # -- the record ------------------------------------------------------------------------------

    def _clock(self, part: str, begun: float) -> None:
        self.timings[part] = self.timings.get(part, 0.0) + time.perf_counter() - begun

    def _record(self, survey: Survey, violation: float, notes: Notes) -> None:
        work = self.work
        excess = work.indicator() - self.model.bias[work.group[:, work.present]]
        loss = survey.loss + float(
            np.maximum(
                work.upper[:, work.present] * excess, work.lower[:, work.present] * excess
            ).sum()
        )
        dual = self._linear - 0.5 * self._norm
        primal = 0.5 * self._norm + float(self.model.bias @ self.fleet.dual.total) + loss
        record = TraceRecord(
            round=len(self.trace) + 1,
            working_set=work.size,
            n_sv=len(self.model.ids),
            n_free=int(work.free().sum()),
            violation=violation,
            dual_objective=dual,
            gap=primal - dual,
            rows_scanned=survey.scanned,
            rows_skipped=survey.skipped,
            kernel_values=self.fleet.poll.kernel_values,
            pair_steps=self.pair_steps,
            seconds=self.budget.elapsed,
            timings=self.timings,
            violators=survey.found,
            notes=notes,
        )
        self.timings = {}
        self.trace.append(record)
        self.observer(record)
