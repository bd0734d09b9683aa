"""PRSVM: weighted random samples, solved on many sites at once; RSVM is PRSVM on one site.

Problem and stopping criterion: the dual of dual.py; until the solution of some site has no
violators, which the certificate then confirms.

Every row x has a multiplicity u(x), at first 1: the data are a multiset. With C sites, samples of
size r and a combinatorial dimension delta, each iteration

    1) draws r elements of the multiset for each site in the order of their priority, without
       replacement; equal elements that meet on a site become one row, with the box it always has
    2) solves on every site p the dual of its rows: theta_p
    3) finds the violators V_p of theta_p among the rows of all other sites
    4) doubles u on V_p if those of them that no site of higher priority holds weigh at most
       u(X) / (3 delta)

With r = 6 delta^2 the sampling lemma bounds the expected weight of the violators by
u(X) / (6 delta), so that step 4 succeeds every other time at least. Some row of the optimal basis
is doubled by each success, which can happen only so often: the expected number of iterations is at
most (6 delta / C) ln(N + 6 r (C - 1) delta). For data that a hyperplane of d dimensions separates
delta is d + 1; where many rows are support vectors it is about their number, and the bound says
nothing of use.

The proof counts on all violators being doubled, and allows those that sites of higher priority
hold to come on top of the test: these make for the term 6 r (C - 1) delta.

By default three things differ from the paper, which throws solutions away between iterations: the
support vectors of the best solution so far join every sample, every site begins at it, so that the
dual objective never falls; and after `max_rounds` the working-set engine goes on from there.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import ceil, sqrt

from widestreet._src.engines.selection.auto import Auto
from widestreet._src.engines.selection.contract import (
    Context,
    Search,
    Strategy,
    require_at_least,
    require_flag,
    require_number,
)
from widestreet._src.engines.solution import Solution

_SAMPLE = 2048  # rows of a site where nothing is said


class WeightedSampling(Strategy):
    """Weighted samples on one site or many; the working-set engine goes on after them.

    Subclasses say how many sites there are.
    """

    sites: int
    sample_size: int | None
    combinatorial_dimension: float | None
    max_rounds: int | None
    until_certified: bool

    def __post_init__(self) -> None:
        require_at_least("sites", self.sites, 1)
        if self.sample_size is not None:
            require_at_least("sample_size", self.sample_size, 2)
        delta = self.combinatorial_dimension
        if delta is not None:
            require_number(
                "combinatorial_dimension", delta, lambda d: 1 <= d <= 1e6, "from 1 to 1e6"
            )
        if self.max_rounds is not None:
            require_at_least("max_rounds", self.max_rounds, 1)
        require_flag("until_certified", self.until_certified)

    def search(self) -> Search:
        """Return the search of the rounds that follow the samples."""
        found: Search = Auto().search()
        return found

    def solve(self, context: Context) -> Solution:
        """Solve a problem by weighted samples."""
        return context.by_samples(self)

    @property
    def size(self) -> int:
        """Elements that each site draws: 6 delta^2, where nothing else is said."""
        if self.sample_size is not None:
            return self.sample_size
        if self.combinatorial_dimension is not None:
            return ceil(6 * self.combinatorial_dimension**2)
        return _SAMPLE

    @property
    def dimension(self) -> float:
        """The combinatorial dimension: that for which the sample is large enough, if not given."""
        if self.combinatorial_dimension is not None:
            return self.combinatorial_dimension
        return sqrt(self.size / 6)


@dataclass(frozen=True)
class PRSVM(WeightedSampling):
    """Parallel randomized training by weighted sampling.

    Made for rows that live in many places, of which only solutions travel. Here the sites are
    threads of one process, and as a way to be faster on one machine it does not pay.

    Parameters
    ----------
    sites : int, default=4
        Samples that are solved at the same time, as far as `n_jobs` allows.
    sample_size : int, optional
        Elements that each site draws; by default 6 times the square of the combinatorial
        dimension, or 2,048 where that is not given.
    combinatorial_dimension : float, optional
        Rows that define the optimum, at the most; by default sqrt(sample_size / 6).
    max_rounds : int or None, default=30
        Iterations after which the working-set engine takes over, or as published nobody, with
        status "approximate". None is for ever.
    until_certified : bool, default=True
        Whether to keep the best solution from iteration to iteration and to go on until it is the
        optimum. If not, every step is the published one, which serves C-SVC and epsilon-SVR only:
        a sample of a nu problem has too few rows for its constraints.

    Notes
    -----
    Records of the trace have one entry per iteration, with the notes `site` (the one that the
    record is about: that of the best objective, or as published of the fewest violators),
    `site_violators` and `site_n_sv` (lists), `log2_weight` (of the whole multiset), `doubled`
    (sites for which step 4 succeeded) and `levels` (how many rows have been doubled 0, 1, 2, ...
    times).

    References
    ----------
    Parallel randomized support vector machine (PRSVM).

    Examples
    --------
    >>> import widestreet as ws
    >>> from widestreet.datasets import checkerboard
    >>> from widestreet.strategies import PRSVM
    >>> X, y = checkerboard(2000, random_state=0)
    >>> many = ws.SVC(C=10, gamma=2, strategy=PRSVM(sites=2, sample_size=500), random_state=0)
    >>> many.fit(X, y).certificate_.status
    'optimal'
    """

    sites: int = 4
    sample_size: int | None = None
    combinatorial_dimension: float | None = None
    max_rounds: int | None = 30
    until_certified: bool = True


@dataclass(frozen=True)
class RSVM(WeightedSampling):
    """Randomized training by weighted sampling: `PRSVM` on one site.

    Parameters
    ----------
    sample_size : int, optional
        Elements of a sample; by default 6 times the square of the combinatorial dimension, or
        2,048 where that is not given.
    combinatorial_dimension : float, optional
        Rows that define the optimum, at the most; by default sqrt(sample_size / 6).
    max_rounds : int or None, default=30
        As for `PRSVM`.
    until_certified : bool, default=True
        As for `PRSVM`.

    Notes
    -----
    Records of the trace have the notes that `PRSVM` explains.

    References
    ----------
    Parallel randomized support vector machine (PRSVM); the idea is that of Balcazar, Dai and
    Watanabe (2001), there with misclassified rows where these are violators, and for separable
    data only.

    Examples
    --------
    >>> import widestreet as ws
    >>> from widestreet.datasets import checkerboard
    >>> from widestreet.strategies import RSVM
    >>> X, y = checkerboard(2000, random_state=0)
    >>> model = ws.SVC(C=10, gamma=2, strategy=RSVM(sample_size=500), random_state=0)
    >>> model.fit(X, y).certificate_.status
    'optimal'
    """

    sample_size: int | None = None
    combinatorial_dimension: float | None = None
    max_rounds: int | None = 30
    until_certified: bool = True
    sites: int = field(default=1, init=False, repr=False)
