"""iSVM: a working set that grows by the most prominent row of a small random sample.

Problem and stopping criterion: the dual of dual.py; as published (`until_certified=False`) one
pass over the data, even if violators remain; by default passes are repeated until every row was
visited with the same solution and none violates it, which the certificate then confirms.

    W = the first row of each class, solved
    stage one   draw N = 59 rows outside W: with probability 0.95 one of them is among the 5 % that
                violate most; add the worst violator to W and solve W again. Ends when
                  "sample"    none of the N rows violates, or
                  "size"      |W| > 1000, or
                  "average"   every row was examined once on average
    stage two   pass over the rows; each violator enters W at once, which is solved again, and takes
                the place of a row of W that is no support vector; other rows are not visited again

The violation of a row outside W is its loss 1 - y f(x). The distance |f(x) - y| would select rows
that are on the right side and far from the boundary. The paper does not visit a row again that did
not violate during the pass, although the solution changes later. Therefore passes are repeated by
default.

For a regression the first two rows are two whose targets are more than the tube apart. Where zero
is not feasible (nu and one-class machines) the first support vectors are those of a feasible point;
they are outside W, in the model, and violate like any other row when their coefficient must change.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from widestreet._src import checks
from widestreet._src.arrays import Bools, Ints
from widestreet._src.engines.selection.strategy_protocol import (
    Notes,
    Proposal,
    RowSource,
    Situation,
    Strategy,
    make_room,
)
from widestreet._src.shards.survey_order import SurveyOrder

_LEAST_STEP, _MOST_STEP = 64, 8192  # rows of a pass that are evaluated together


@dataclass(frozen=True)
class ISVM(Strategy):
    """Strategy with a two-stage incremental working set (iSVM).

    It suits problems with few support vectors. The cost is one or two passes over the data, plus
    one small solve for each row that enters the working set. A `block` of about 64 makes this one
    solve for each 64 rows.

    Parameters
    ----------
    sample_size : int, default=59
        Rows drawn in each iteration of stage one.
    stage_one_size : int, default=1000
        Rows of the working set beyond which stage one ends.
    scan_fraction : float, default=1.0
        Fraction of the data after which the pass of stage two ends; 0 skips stage two. It has no
        effect if `until_certified` is True: passes then always cover all rows.
    block : int, default=1
        Number of violators that enter at a time: in stage one the worst of the sample, in stage two
        the next ones of the pass. The paper uses 1.
    until_certified : bool, default=True
        If True, passes are repeated until no row violates. If False, the fit ends after one pass,
        as published. Its status is then "approximate", and the certificate bounds its distance
        from the optimum.

    Notes
    -----
    Trace records have the notes `stage` (1 or 2: the stage of this round's survey) and `examined`
    (rows examined since the start). The record of the round in which stage one ended also has
    `ended`: "sample" if no row of a sample violated, "size" if the working set exceeded
    `stage_one_size`, or "average" if every row had been examined once on average.

    References
    ----------
    Two-stage incremental working set selection for fast support vector training on large datasets.

    Examples
    --------
    >>> import widestreet as ws
    >>> from widestreet.datasets import checkerboard
    >>> from widestreet.strategies import ISVM
    >>> X, y = checkerboard(2000, random_state=0)
    >>> quick = ws.SVC(C=10, gamma=2, strategy=ISVM(until_certified=False), random_state=0)
    >>> quick.fit(X, y).certificate_.status
    'approximate'
    """

    sample_size: int = 59
    stage_one_size: int = 1000
    scan_fraction: float = 1.0
    block: int = 1
    until_certified: bool = True

    def __post_init__(self) -> None:
        checks.require_integer("sample_size", self.sample_size, least=1)
        checks.require_integer("stage_one_size", self.stage_one_size, least=2)
        checks.require_integer("block", self.block, least=1)
        checks.require_real("scan_fraction", self.scan_fraction, least=0.0, most=1.0)
        checks.require_flag("until_certified", self.until_certified)

    def search(self) -> _Search:
        """Return a new search."""
        return _Search(self)


class _Search:
    """State of an iSVM during one fit."""

    def __init__(self, plan: ISVM) -> None:
        self.plan = plan
        self.stage = 1  # of the next survey
        self.iterations = 0  # of stage one
        self.examined = 0  # rows, since the start
        self.position = 0  # in the pass
        self.passed = 0  # rows, since stage two began
        self.clean = 0  # rows passed since the last violator
        self._ended = ""  # why stage one did, until it is noted
        self._step = _LEAST_STEP
        self._order = SurveyOrder(0, 0.0)
        self._waiting: Ints = np.empty(0, dtype=np.int64)  # violators of a block not yet full

    def start(self, rows: int, capacity: int) -> int:
        """Return two, or fewer if there are not as many rows."""
        return min(2, rows)

    def draw(self, source: RowSource, size: int, rng: np.random.Generator) -> Ints:
        """Return the first row of each class."""
        return source.pair()

    def propose(self, situation: Situation, rng: np.random.Generator) -> Proposal:
        """Add the violators found, and survey the next rows."""
        first = situation.round == 0
        add = situation.violators
        if not first:
            worst = np.argsort(-situation.excess, kind="stable")
            add = self._collect(add[np.sort(worst[: self.plan.block])], situation)
        drop = self._drop(situation, len(add), rng)
        size = len(drop) - int(drop.sum()) + len(add)
        if len(add):
            self.clean = 0
        self.iterations += self.stage == 1 and len(add) > 0 and not first
        self._end_stage_one(size, situation.rows)
        inside = np.union1d(situation.ids[~drop], add)
        self._order = self._survey(inside, situation, rng)
        one_pass = not self.plan.until_certified
        return Proposal(drop, add, situation.goal.aim, self._order, patient=one_pass)

    def _collect(self, found: Ints, situation: Situation) -> Ints:
        """Return the rows that enter in this round.

        As published, violators wait until the block is full or the pass is over. Sets: waiting.
        """
        found = np.concatenate([self._waiting, found])
        self._waiting = found[:0]
        literal = self.stage == 2 and not self.plan.until_certified
        if literal and len(found) < self.plan.block and not self._over(situation):
            self._waiting, found = found, self._waiting
        return found

    def _drop(self, situation: Situation, newcomers: int, rng: np.random.Generator) -> Bools:
        """Return the mask of rows to drop: in stage two, one non-support vector per new row.

        No row is dropped while the newest rows wait for a violating partner. The paper does not
        have this exception.
        """
        drop = np.zeros(len(situation.slack), dtype=bool)
        waiting = self.plan.until_certified and not situation.moved
        if self.stage == 2 and not waiting:
            idle = np.flatnonzero(~situation.support)
            farthest = np.argsort(-situation.slack[idle], kind="stable")
            drop[idle[farthest[:newcomers]]] = True
        return make_room(situation, drop, situation.capacity, newcomers, rng)

    def _end_stage_one(self, size: int, rows: int) -> None:
        """End stage one if W is large or every row was examined on average. Sets: stage."""
        if self.stage == 2:
            return
        if size > self.plan.stage_one_size:
            self._leave_stage_one("size")
        elif self.iterations * self.plan.sample_size >= rows:
            self._leave_stage_one("average")

    def _leave_stage_one(self, why: str) -> None:
        self.stage, self._ended = 2, why

    def _survey(self, inside: Ints, situation: Situation, rng: np.random.Generator) -> SurveyOrder:
        """Return the next survey: a sample of the rows outside W, or the next rows of a pass."""
        tol, rows = situation.goal.aim, situation.rows
        if self.stage == 1:
            outside = rows - len(inside)
            chosen = rng.choice(outside, min(self.plan.sample_size, outside), replace=False)
            sample = chosen + np.searchsorted(inside - np.arange(len(inside)), chosen, side="right")
            return SurveyOrder(len(sample), tol, whole=True, rows=sample)
        end = rows
        if not self.plan.until_certified:
            end = int(np.ceil(self.plan.scan_fraction * rows))
        some = np.arange(self.position, min(end, self.position + self._step))
        return SurveyOrder(self.plan.block - len(self._waiting), tol, rows=some)

    def observe(self, situation: Situation) -> Notes:
        """Count rows; end stage one when none of a sample violates."""
        notes: Notes = {"stage": self.stage}
        self.examined += situation.visited
        if self.stage == 2 and self._order.rows is not None:
            self._move(situation)
        elif situation.found == 0:
            self._leave_stage_one("sample")
        if self._ended:
            notes["ended"] = self._ended
            self._ended = ""
        return notes | {"examined": self.examined}

    def _move(self, situation: Situation) -> None:
        """Advance the pass to the last row visited. Sets: position, passed, clean, step."""
        self.position += situation.visited
        self.passed += situation.visited
        self.clean = 0 if situation.found else self.clean + situation.visited
        few = situation.found < self._order.quota
        step = 2 * (self._step if few else situation.visited)
        self._step = min(_MOST_STEP, max(_LEAST_STEP, step))
        if self.plan.until_certified and self.position >= situation.rows:
            self.position = 0

    def finished(self, situation: Situation) -> bool:
        """Return whether the pass has visited every row since the solution changed."""
        return self.plan.until_certified and self.stage == 2 and self.clean >= situation.rows

    def enough(self, situation: Situation) -> bool:
        """Return whether the single pass is over and no violator waits to enter."""
        if self.plan.until_certified or self.stage == 1:
            return False
        return self._over(situation) and len(situation.violators) + len(self._waiting) == 0

    def _over(self, situation: Situation) -> bool:
        """Return whether the single pass is over."""
        return self.position >= self.plan.scan_fraction * situation.rows
