"""A block of rows with everything that has one entry per row.

The engine coordinates; whatever is as long as the data lives in a shard: the variables of its
rows, their coefficients, the last score of each row and the version of the model it was computed
with. A shard answers one question, `survey`: which of your rows violate the optimality conditions
of this model? What crosses between the two is the model one way and a bounded number of violators
the other way.

Skipping. Between two versions of a model the score of a row x moves by at most
|w_new - w_old| sqrt(K(x, x)). A row whose variables are all at a bound, with a slack larger than
what the model can have moved since its score was computed, cannot have become a violator and is
not evaluated. This is exact for positive semidefinite kernels and off for others. The bound is
attained by rows in the very direction of the change; most move by a small part of it. A survey may
rely on that as long as somebody looks at every row in the end.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

import numpy as np

from widestreet import _core
from widestreet._src.arrays import Bools, Floats, Ints
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.poll import Poll
from widestreet._src.problems.dual import Dual, select
from widestreet._src.shards.expansion import Expansion


@dataclass(frozen=True, eq=False)
class Candidates:
    """Rows on their way into the working set, with their variables and current state."""

    ids: Ints
    variables: Dual
    beta: Floats
    score: Floats

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True, eq=False)
class SurveyOrder:
    """What a survey is asked for.

    Attributes
    ----------
    quota : int
        Violators wanted: no more are returned.
    tol : float
        Rows that violate by more than this are violators.
    whole : bool
        Visit every row, instead of stopping when the quota is reached.
    skip : bool
        Whether rows may be skipped.
    caution : float
        Part of the bound by which scores are taken to have moved: 1 makes skipping safe.
    rows : ndarray, optional
        Rows to visit, in this order and none else; nothing is skipped then. The survey ends right
        behind the row that fills the quota.
    """

    quota: int
    tol: float
    whole: bool = False
    skip: bool = True
    caution: float = 1.0
    rows: Ints | None = None


@dataclass(frozen=True, eq=False)
class Survey:
    """What a shard found.

    Attributes
    ----------
    ids : ndarray
        Violators drawn, at most the quota.
    violation : ndarray
        By how much each of them violates.
    highest, lowest : ndarray of shape (groups,)
        Extremes of F over the rows evaluated.
    loss : float
        Primal loss over the rows visited, extrapolated to all rows outside the working set.
    scanned, skipped : int
    complete : bool
        Whether every row was visited.
    found : int
        Violators met, drawn or not.
    visited : int
        Rows visited, those in the working set included.
    """

    ids: Ints
    violation: Floats
    highest: Floats
    lowest: Floats
    loss: float
    scanned: int
    skipped: int
    complete: bool
    found: int
    visited: int

    @classmethod
    def first(cls, ids: Ints) -> Survey:
        """Return the rows to begin with as if a survey had found them."""
        nothing = np.empty(0)
        return cls(
            ids=ids,
            violation=np.ones(len(ids)),
            highest=nothing,
            lowest=nothing,
            loss=0.0,
            scanned=0,
            skipped=0,
            complete=False,
            found=len(ids),
            visited=0,
        )


class Shard:
    """Rows in this process.

    Parameters
    ----------
    gram : Gram
        Kernel values between the rows (left) and the rows of all shards (right).
    dual : Dual
        The variables of the rows.
    threads : int
    """

    def __init__(self, gram: Gram, dual: Dual, threads: int) -> None:
        self.gram = gram
        self.dual = dual
        self.threads = threads
        self.double = False  # precision of the kernel values in surveys
        self.beta = np.zeros_like(dual.target)
        self.score = np.zeros(dual.rows)
        self.version = np.zeros(dual.rows, dtype=np.int32)  # zero is exact while beta is zero
        norm = None
        if not gram.ones_on_diagonal and gram.kernel.positive:
            with np.errstate(over="ignore"):  # infinite: then nothing is skipped
                norm = np.sqrt(gram.diag()).astype(np.float32)
        self._native = _core.Shard(dual.native(), self.beta, self.score, self.version, norm)

    @property
    def rows(self) -> int:
        return self.dual.rows

    def start_from(self, beta: Floats) -> None:
        """Begin at another point than zero. Sets: beta; all scores become unknown."""
        self.beta[:] = beta
        self.version[:] = _core.UNKNOWN

    def take(self, ids: Ints) -> Candidates:
        """Hand rows over to the working set. Sets: their version."""
        self.version[ids] = _core.IN_WORKING_SET
        return Candidates(
            ids, select(self.dual, ids), np.ascontiguousarray(self.beta[:, ids]), self.score[ids]
        )

    def release(self, ids: Ints, beta: Floats, score: Floats, version: int) -> None:
        """Take rows back from the working set. Sets: their beta, score and version."""
        self.beta[:, ids] = beta
        self.score[ids] = score
        self.version[ids] = version

    def refresh(self, score: Floats, exact: Bools, version: int) -> None:
        """Accept exact scores computed elsewhere for rows outside the working set."""
        outside = exact & (self.version != _core.IN_WORKING_SET)
        self.score[outside] = score[outside]
        self.version[outside] = version

    def evaluate(
        self, ids: Ints, model: Expansion, *, double: bool | None = None, poll: Poll | None = None
    ) -> Floats:
        """Scores of rows from all support vectors of the model."""
        dtype = np.float64 if (self.double if double is None else double) else np.float32
        return self.gram.scan(ids, model.ids, model.coef, dtype=dtype, poll=poll)

    def survey(
        self,
        model: Expansion,
        order: SurveyOrder,
        rng: np.random.Generator,
        poll: Poll | None = None,
    ) -> Survey:
        """Look for violators of the model, in all rows or in some spread evenly over them.

        Sets: score and version of the rows evaluated.
        """
        if order.rows is not None:
            return self._survey_these(order.rows, model, order, rng, poll)
        n = self.rows
        offset, stride, step = 0, 1, n  # every row: in order, for the sake of the caches
        if not order.whole:
            offset, stride = int(rng.integers(n)), _coprime(int(rng.integers(1, max(2, n))), n)
            step = max(2048, 2 * order.quota)
        drift = order.caution * model.drift if order.skip else np.full_like(model.drift, np.inf)
        highest, lowest = np.full(self.dual.groups, -np.inf), np.full(self.dual.groups, np.inf)
        drawn: list[Ints] = []
        sizes: list[Floats] = []
        found = scanned = skipped = begin = 0
        loss = 0.0
        while begin < n and (order.whole or found < order.quota):
            end = min(n, begin + step)
            stale, jumped, jumped_loss = self._native.triage(
                offset, stride, begin, end, model.bias, drift, self.threads
            )
            self.bring_up_to_date(stale, model, poll)
            at, size, high, low, part_loss = self._native.judge(stale, model.bias, order.tol)
            drawn.append(stale[at])
            sizes.append(size)
            np.maximum(highest, high, out=highest)
            np.minimum(lowest, low, out=lowest)
            found += len(at)
            scanned += len(stale)
            skipped += jumped
            loss += jumped_loss + part_loss
            begin = end
        ids, violation = np.concatenate(drawn), np.concatenate(sizes)
        if found > order.quota:
            chosen = rng.choice(found, order.quota, replace=False)
            ids, violation = ids[chosen], violation[chosen]
        return Survey(
            ids=ids,
            violation=violation,
            highest=highest,
            lowest=lowest,
            loss=loss * n / max(1, begin),
            scanned=scanned,
            skipped=skipped,
            complete=begin >= n,
            found=found,
            visited=begin,
        )

    def _survey_these(
        self,
        rows: Ints,
        model: Expansion,
        order: SurveyOrder,
        rng: np.random.Generator,
        poll: Poll | None,
    ) -> Survey:
        """Look for violators among some rows, in their order.

        Sets: score and version of the rows evaluated.
        """
        outside = np.flatnonzero(self.version[rows] != _core.IN_WORKING_SET)
        stale = rows[outside]
        self.bring_up_to_date(stale, model, poll)
        at, violation, highest, lowest, loss = self._native.judge(stale, model.bias, order.tol)
        found, visited = len(at), len(rows)
        if found > order.quota and order.whole:
            chosen = np.sort(rng.choice(found, order.quota, replace=False))
            at, violation = at[chosen], violation[chosen]
        elif found >= order.quota and not order.whole:
            found = order.quota
            at, violation = at[:found], violation[:found]
            visited = int(outside[at[-1]]) + 1 if found else 0
        return Survey(
            ids=stale[at],
            violation=violation,
            highest=highest,
            lowest=lowest,
            loss=loss * self.rows / max(1, len(rows)),
            scanned=len(stale),
            skipped=0,
            complete=False,
            found=found,
            visited=visited,
        )

    def judge(self, beta: Floats, model: Expansion, tol: float, poll: Poll | None = None) -> Survey:
        """All violators of another point than the present one, which stays as it is."""
        other = Shard(self.gram, self.dual, self.threads)
        other.double = self.double
        other.start_from(beta)
        order = SurveyOrder(self.rows, tol, whole=True, skip=False)
        return other.survey(model, order, np.random.default_rng(0), poll)

    def bring_up_to_date(self, stale: Ints, model: Expansion, poll: Poll | None = None) -> None:
        """Compute the scores of rows, from all support vectors or from what changed since.

        Sets: score and version of the rows.
        """
        versions = self.version[stale]
        dtype = np.float64 if self.double else np.float32
        anew = versions != model.version
        for version in np.unique(versions[anew]):
            changed, change = model.change_since(int(version))
            if changed is not None and len(changed) < len(model.ids):
                mine = versions == version
                ids, anew = stale[mine], anew & ~mine
                out = self.score[ids]
                self.gram.scan(ids, changed, change, dtype=dtype, out=out, poll=poll)
                self.score[ids] = out
        if anew.any():
            self.score[stale[anew]] = self.evaluate(stale[anew], model, poll=poll)
        self.version[stale] = model.version


def _coprime(start: int, n: int) -> int:
    """The first number from `start` on that has no factor in common with n."""
    while gcd(start, n) != 1:
        start += 1
    return start
