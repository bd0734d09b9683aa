"""The working-set engine: a coordinator over shards.

It holds the working set (rows with their kernel tile) and the expansion (all support vectors), and
no array of the length of the data. A round has five steps:

    1) propose    the strategy chooses the rows that leave and enter the working set
    2) solve      solve the dual restricted to the working set (subproblem.py)
    3) publish    send the new expansion to the shards
    4) survey     the shards search for rows that violate the optimality conditions
                  (a device that holds all rows repeats steps 1 to 4 by itself)
    5) verdict    if the surveys find none, the check examines every row. If it fails, the engine
                  continues from the exact scores of the check, and in float64 if float32 kernel
                  values caused the failure (switch_to_float64.py)

The dual objective does not decrease from round to round.
"""

from __future__ import annotations

import logging
import time
from dataclasses import replace

import numpy as np

from widestreet._src.arrays import Floats, Ints
from widestreet._src.engines.budget import status_of
from widestreet._src.engines.selection.strategy_protocol import Proposal, Situation
from widestreet._src.engines.solution import Solution
from widestreet._src.engines.working_set import switch_to_float64
from widestreet._src.engines.working_set.growth_on_device import solve_and_grow
from widestreet._src.engines.working_set.on_device import solve_on_device
from widestreet._src.engines.working_set.state_of_rounds import Check, Inputs, State
from widestreet._src.engines.working_set.subproblem import solve_subproblem
from widestreet._src.shards.first_rows import FirstRows
from widestreet._src.shards.news import Released
from widestreet._src.shards.shard_examination import adopt, norm_of_start
from widestreet._src.shards.survey_order import Survey, SurveyOrder
from widestreet._src.status import Status

log = logging.getLogger("widestreet")

_LENGTH_SAFETY = 1.001  # lengths are computed from float32 kernel values
_ROUNDING_OF_GAIN = 1e-10  # of the objective and the terms of a gain: a smaller loss is rounding
_RANDOM_FIRST_ROWS = 256  # drawn in addition to the first rows of the inputs
_ROWS_OF_FIRST_NORM = 4096  # support vectors from which c'Kc of the starting point is estimated
_FAILED_LOOKS = 3  # exact examinations without progress before the engine gives up


class WorkingSetEngine:
    """Solver of a dual whose rows are in a shard set, by rounds on a working set.

    Attributes
    ----------
    inputs : Inputs
    state : State
    """

    def __init__(self, inputs: Inputs) -> None:
        self.inputs, self.state = inputs, State.first(inputs)
        if switch_to_float64.starts_in_float64(inputs.shards):
            inputs.shards.use_double()
            self.state.work.use_double()

    # -- the loop --------------------------------------------------------------------------------

    def solve(self) -> Solution:
        """Run rounds until the check succeeds, the budget is spent or progress ends."""
        state = self.state
        status = status_of(self._start) or status_of(self._rounds)
        while status == Status.TIME_LIMIT and state.trace and self.inputs.check is not None:
            status = status_of(self._look_before_the_end)
            if status is not None:
                break
            status = status_of(self._rounds)
        assert status is not None
        if state.before is not None:  # stopped within step 2: use its last point
            self._publish()
        if state.trace:  # the check that ended the fit, or a part of a round
            state.trace.add(state.timings)
        if self.inputs.tiles is not None:
            state.work.lent.give_back()
        return Solution(
            point=state.point,
            rows=self.inputs.shards.rows,
            bias=state.expansion.bias,
            dual_objective=state.objective,
            status=status,
            trace=state.trace,
            pair_steps=state.pair_steps,
            kernel_values=self.inputs.shards.poll.kernel_values,
        )

    def _look_before_the_end(self) -> Status | None:
        """Examine the point when the time for rounds is over.

        Return the final status; None if more rounds are worthwhile, because the examination took
        little time, or because it will by what is measured now. Sets: all that `_accept` sets.
        """
        inputs, state = self.inputs, self.state
        if state.before is not None:
            self._publish()
        rows_left = state.work.size > 0  # none if the change of the tile to float64 was cut short
        goes_on = state.order is not None and inputs.resident is None and rows_left
        if goes_on and inputs.budget.remaining():
            self._keep_time(now=True)
            if inputs.budget.worthwhile:
                assert state.order is not None
                self._survey(state.order)
                return None
        if not inputs.budget.affordable:
            return Status.TIME_LIMIT
        inputs.observer(
            replace(state.trace[-1], phase="certificate", seconds=inputs.budget.elapsed)
        )
        check = state.checked(inputs)
        if check.next_violation is None:
            return Status.OPTIMAL
        self._keep_time()
        if not (inputs.budget.worthwhile and rows_left):
            return Status.TIME_LIMIT
        self._accept(check, drift=state.drift)
        return None

    def _rounds(self) -> Status:
        """Run rounds until the verdict is a status. Sets: state."""
        inputs, state = self.inputs, self.state
        while True:
            # 1) propose
            before = state.situation(inputs)
            proposal = state.search.propose(before, inputs.rng)
            state.order = proposal.survey
            size = state.work.size
            self._exchange(proposal)
            # 2) solve
            surveyed = self._solve(proposal)
            # 3) publish
            self._publish()
            if not (surveyed and _checks_at_once(inputs, state)):
                switch_to_float64.check_float32(inputs, state, state.violation)
            # 4) survey
            status = None
            if not surveyed and state.begins_with_check(inputs):
                status = self._check_start()
            elif not surveyed:
                self._survey(proposal.survey)
            idle = len(before.violators) == 0 and not surveyed
            looked = idle and state.survey.scanned > 0  # no other work
            busy = looked or proposal.patient or state.work.size > size
            after = state.situation(inputs)
            inputs.observer(state.recorded(inputs, state.search.observe(after)))
            # 5) verdict
            status = status or self._verdict(after, busy)
            if status is not None:
                return status
            inputs.budget.look_at_clock()

    def _check_start(self) -> Status | None:
        """Examine the point of the first round; return a status if it is optimal.

        Sets: violation, or all that `_accept` sets.
        """
        check = self.state.checked(self.inputs)
        if check.next_violation is None:
            self.state.violation = check.violation
            return Status.OPTIMAL
        self._accept(check, drift=self.state.drift)
        return None

    # -- the steps -------------------------------------------------------------------------------

    def _start(self) -> None:
        """Set the starting point: that of the inputs, or zero, or any feasible point.

        Sets: survey, which has the first rows; violation, point, expansion, linear, norm.
        """
        inputs, state, shards = self.inputs, self.state, self.inputs.shards
        state.violation = FirstRows(shards).first_violation()
        point = FirstRows(shards).feasible_point() if inputs.start is None else inputs.start
        if len(point):
            state.point, zero = replace(point, score=None), state.expansion
            state.expansion = zero.published(point.ids, point.coef, zero.bias, np.inf)
            state.linear, state.norm = shards.totals(point)[0], np.inf  # until it is known
            self._tell()
            self._keep_time()
            state.norm = norm_of_start(shards, point, _ROWS_OF_FIRST_NORM, inputs.rng)
        state.survey = Survey.first(self._first_rows())

    def _tell(self) -> None:
        """Publish the point to the shards. Sets: released."""
        state, work = self.state, self.state.work
        self.inputs.shards.publish(
            state.expansion, state.point, work.ids[work.present].copy(), state.released
        )
        state.released = Released()

    def _first_rows(self) -> Ints:
        """Return the first rows: those of the inputs, and others that the strategy draws."""
        inputs, search = self.inputs, self.state.search
        source, capacity = FirstRows(inputs.shards), inputs.capacity
        size = search.start(source.rows, capacity)
        if inputs.first is None or size >= source.rows:
            return search.draw(source, size, inputs.rng)
        first = inputs.first[:capacity]
        others = min(size, _RANDOM_FIRST_ROWS, capacity - len(first))
        size = others if inputs.start is not None else max(size - len(first), others)
        drawn = search.draw(source, size, inputs.rng)
        return np.union1d(first[: capacity - len(drawn)], drawn)

    def _exchange(self, proposal: Proposal) -> None:
        """Remove rows from the working set and add others. Sets: work, released, newcomers."""
        begun = time.perf_counter()
        state, shards = self.state, self.inputs.shards
        work, leaving = state.work, np.flatnonzero(proposal.drop)
        if len(leaving):
            state.released = Released(
                work.ids[leaving], work.score[leaving], state.expansion.version
            )
        state.newcomers += len(proposal.add)
        rows = None
        if len(proposal.add):
            rows = shards.take(np.sort(proposal.add))
            rows = switch_to_float64.exact_newcomers(self.inputs, state, rows)
        work.exchange(proposal.drop, rows)
        state.clock("exchange", begun)

    def _solve(self, proposal: Proposal) -> bool:
        """Solve the dual restricted to the working set. Sets: work, moved.

        Return whether the working set grew on a device, which has then surveyed all rows.
        """
        begun, grows = time.perf_counter(), self.inputs.grows and proposal.growth is not None
        if grows:
            solve_and_grow(self.inputs, self.state, proposal, self._keep_time)
        else:
            solve = solve_subproblem if self.inputs.resident is None else solve_on_device
            solve(self.inputs, self.state, proposal.inner_tol, self._keep_time)
            self.state.clock("solve", begun)
        if len(proposal.add):
            self.state.moved = self.state.steps > 0
        return grows

    def _keep_time(self, *, now: bool = False) -> None:
        """Reserve time for a certificate of this expansion, if there is a check and a limit.

        If `now`, the pace is measured whatever was measured before.
        """
        inputs, state = self.inputs, self.state
        if inputs.check is None or inputs.budget.max_time is None:
            return
        shards, survey, forecast = inputs.shards, state.survey, state.forecast
        support = max(len(state.expansion.ids), int(np.count_nonzero(state.work.coef())))
        support = max(support, state.support)
        if support == 0:
            return
        forecast.measure(shards, inputs.budget, now=now)
        violate = survey.found / survey.visited if survey.visited else 1.0
        doubtful, changed, last = min(1.0, support / shards.rows + violate), None, shards.examined
        if last is not None:
            moved, _ = last.change_to(state.expansion.ids, state.expansion.coef)
            changed = len(moved) + state.work.size
        forecast.keep_back(shards, inputs.budget, support, doubtful, changed, now=now)

    def _publish(self) -> None:
        """Publish the point of the working set, unless rounding lowered the objective.

        Sets: point, expansion, linear, norm, before.
        """
        state = self.state
        assert state.before is not None
        (beta, score), state.before = state.before, None
        work, expansion = state.work, state.expansion
        now, ids = work.beta[:, work.present], work.ids[work.present]
        change, moved = now - beta, work.score[work.present] - score
        coef = change.sum(axis=0)
        length = float(np.sqrt(max(0.0, float(coef @ moved))))
        linears, norms = work.target[:, work.present] * change, coef * (2.0 * score + moved)
        linear, norm = float(linears.sum()), float(norms.sum())
        size = float(np.abs(linears).sum() + 0.5 * np.abs(norms).sum())
        if linear - 0.5 * norm < -_ROUNDING_OF_GAIN * max(size, abs(state.objective)):
            self._tell()
            self._undo(beta, score, 0.5 * norm - linear)
            return
        state.linear += linear
        state.norm += norm
        state.point = state.point.with_rows(ids, now)
        coef = state.point.coef
        used = coef != 0
        state.expansion = expansion.published(
            state.point.ids[used], coef[used], state.bias(), _LENGTH_SAFETY * length
        )
        self._tell()

    def _undo(self, beta: Floats, score: Floats, loss: float) -> None:
        """Restore the point before a solve that made it worse. Sets: work, moved, gave_up."""
        log.debug("rounding made the objective fall by %.3g: undone", loss)
        state, work = self.state, self.state.work
        work.beta[:, work.present], work.score[work.present] = beta, score
        state.moved = False
        if work.double:
            state.gave_up = True
        else:
            switch_to_float64.raise_precision(self.inputs, state, loss)
            switch_to_float64.refresh_working_set(self.inputs, state)

    def _survey(self, order: SurveyOrder) -> None:
        """Search for violators. Sets: survey, violation."""
        begun = time.perf_counter()
        inputs, state = self.inputs, self.state
        self._keep_time()
        skip = order.skip and inputs.skip and inputs.shards.kernel.positive
        order = replace(order, skip=skip, caution=state.drift)
        state.survey = inputs.shards.survey(order, inputs.rng)
        state.clock("survey", begun)
        highest, lowest = state.work.extremes()
        gap = np.maximum(highest, state.survey.highest) - np.minimum(lowest, state.survey.lowest)
        state.violation = max(0.0, float(gap.max()))

    def _survey_safely(self) -> None:
        """Survey all rows; from now on, skip only rows that provably do not violate.

        Sets: drift, survey, violation.
        """
        self.state.drift = 1.0
        self._survey(SurveyOrder(self.inputs.capacity, self.state.goal.aim, whole=True))

    # -- the verdict -----------------------------------------------------------------------------

    def _verdict(self, situation: Situation, busy: bool) -> Status | None:
        """Return the final status; None to continue."""
        state = self.state
        if state.search.enough(situation):
            return Status.APPROXIMATE
        stuck = state.gave_up or state.progress.stuck(
            state.objective, state.violation, busy, state.pass_rounds
        )
        if not stuck and (not state.search.finished(situation) or self._still_violates()):
            return None
        if self.inputs.check is None:
            return self._last_survey(stuck)
        return self._consult()

    def _still_violates(self) -> bool:
        """Return whether the working set violates by exact scores, unless this failed to shrink.

        If the working set is the whole problem in float64, or a device computes all scores in one
        call, the check costs no more than these scores, so they are not computed.
        """
        inputs, state = self.inputs, self.state
        if state.work.double and state.work.size == inputs.shards.rows:
            return False
        if _checks_at_once(inputs, state):
            return False
        violation = switch_to_float64.exact_violation(inputs, state)
        failures = state.refreshed.count(violation)
        return not state.goal.met(violation) and failures < _FAILED_LOOKS

    def _last_survey(self, stuck: bool) -> Status | None:
        """Return the verdict without a check, after a survey that skips no violator."""
        state = self.state
        if state.drift < 1.0:
            self._survey_safely()
        if state.goal.met(state.violation):
            return Status.OPTIMAL
        return Status.STALLED if stuck else None

    def _consult(self) -> Status | None:
        """Return the verdict of the check. Sets: goal; if it fails, all that `_accept` sets."""
        state = self.state
        check = state.checked(self.inputs)
        if check.next_violation is None:
            return Status.OPTIMAL
        state.goal = state.goal.tightened(check.next_violation)
        log.debug("check: violation %.3g, %.3g wanted", check.violation, state.goal.tol)
        if state.checks.count(check.violation) >= (1 if state.gave_up else _FAILED_LOOKS):
            return Status.STALLED
        state.progress.idle = 0
        self._accept(check)
        return None

    def _accept(self, check: Check, drift: float = 1.0) -> None:
        """Continue from exact scores, in float64 if float32 kernel values caused the failure.

        Sets: scores, norm and bias, survey, violation; drift, to that of later surveys.
        """
        inputs, state = self.inputs, self.state
        work, shards, expansion = state.work, inputs.shards, state.expansion
        switch_to_float64.take_over(inputs, state, shards.scores(work.ids[work.present]))
        error, bounds = adopt(shards), expansion.drift.copy()
        if error > 0:
            bounds[-2] = max(bounds[-2], error)
        state.norm = 2.0 * (state.linear - check.dual)
        state.expansion = replace(expansion, bias=state.bias(), drift=bounds)
        self._tell()
        state.held = None  # its scores are not exact
        self._survey_safely()
        state.drift, state.violation = drift, check.violation


def _checks_at_once(inputs: Inputs, state: State) -> bool:
    """Return whether a check takes a device less time than the comparison of some scores."""
    shards, support = inputs.shards, len(state.expansion.ids)
    at_once = shards.rows * support <= shards.known.gram.values_per_call
    return inputs.check is not None and at_once
