"""PRSVM: weighted random samples, solved on many sites at once; RSVM is PRSVM on one site.

Problem and stopping criterion: the dual of dual.py; iterations end when the solution of some site
has no violators, which the certificate then confirms.

Every row x has a multiplicity u(x), at first 1: the data are a multiset. With C sites, samples of
size r and a combinatorial dimension delta, each iteration

    1) draws r elements of the multiset for each site in the order of their priority, without
       replacement; equal elements on one site become one row, whose box does not change
    2) solves on every site p the dual of its rows: theta_p
    3) finds the violators V_p of theta_p among the rows of all other sites
    4) doubles u on V_p if those of them that no site of higher priority holds weigh at most
       u(X) / (3 delta)

With r = 6 delta^2 the sampling lemma bounds the expected weight of the violators by
u(X) / (6 delta), so that step 4 succeeds at least every other time. Each success doubles some row
of the optimal basis, which bounds the number of successes: the expected number of iterations is at
most (6 delta / C) ln(N + 6 r (C - 1) delta). For data that a hyperplane of d dimensions separates
delta is d + 1. With many support vectors delta is about their number, and the bound is of no use.

The proof requires that all violators are doubled. Violators that sites of higher priority hold do
not count in the test of step 4; they cause the term 6 r (C - 1) delta.

By default three things differ from the paper, which discards solutions between iterations. The
support vectors of the best solution so far join every sample. Every site starts at that solution,
so that the dual objective never decreases. After `max_rounds` the working-set engine continues from
the best solution.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import ceil, sqrt

from widestreet._src import checks
from widestreet._src.engines.selection.auto_doubling import Auto
from widestreet._src.engines.selection.strategy_protocol import (
    Context,
    Search,
    Strategy,
)
from widestreet._src.engines.solution import Solution

_DEFAULT_SAMPLE = 2048  # rows of a site if neither sample size nor dimension is given


class WeightedSampling(Strategy):
    """Base class of strategies that solve weighted samples on one site or several.

    After the samples the working-set engine continues. Subclasses define the number of sites.
    """

    sites: int
    sample_size: int | None
    combinatorial_dimension: float | None
    max_rounds: int | None
    until_certified: bool

    def __post_init__(self) -> None:
        checks.require_integer("sites", self.sites, least=1)
        if self.sample_size is not None:
            checks.require_integer("sample_size", self.sample_size, least=2)
        delta = self.combinatorial_dimension
        if delta is not None:
            checks.require_real("combinatorial_dimension", delta, least=1.0, most=1e6)
        if self.max_rounds is not None:
            checks.require_integer("max_rounds", self.max_rounds, least=1)
        checks.require_flag("until_certified", self.until_certified)

    def search(self) -> Search:
        """Return the search of the rounds that follow the samples."""
        found: Search = Auto().search()
        return found

    def solve(self, context: Context) -> Solution:
        """Solve a problem by weighted samples."""
        return context.by_samples(self)

    @property
    def size(self) -> int:
        """Number of elements that each site draws; by default 6 delta^2."""
        if self.sample_size is not None:
            return self.sample_size
        if self.combinatorial_dimension is not None:
            return ceil(6 * self.combinatorial_dimension**2)
        return _DEFAULT_SAMPLE

    @property
    def dimension(self) -> float:
        """Combinatorial dimension; by default the largest that the sample size allows."""
        if self.combinatorial_dimension is not None:
            return self.combinatorial_dimension
        return sqrt(self.size / 6)


@dataclass(frozen=True)
class PRSVM(WeightedSampling):
    """Strategy of parallel randomized training by weighted sampling (PRSVM).

    The method is designed for rows on many machines that exchange only solutions. The sites
    are threads of this process or, on a Dask cluster, tasks of the workers. On one machine it is
    not faster than the other strategies.

    Parameters
    ----------
    sites : int, default=4
        Number of samples per iteration. They are solved in parallel as far as `n_jobs` allows.
    sample_size : int, optional
        Number of elements that each site draws; by default 6 times the square of
        `combinatorial_dimension`, or 2,048 if that is not given either.
    combinatorial_dimension : float, optional
        Largest number of rows that define the optimum; by default sqrt(sample_size / 6).
    max_rounds : int or None, default=30
        Largest number of iterations; None means no limit. After them the working-set engine
        continues, or, if `until_certified` is False, the fit ends with status "approximate".
    until_certified : bool, default=True
        If True, the best solution is kept between iterations, and the fit continues until it is
        optimal. If False, every step is the published one. This works for C-SVC and epsilon-SVR
        only: a sample of a nu problem has too few rows for its constraints.

    Notes
    -----
    The trace has one record per iteration, about one site: that with the best objective, or, if
    `until_certified` is False, that with the fewest violators. The notes are `site` (its number),
    `site_violators` and `site_n_sv` (lists over the sites), `log2_weight` (of the whole multiset),
    `doubled` (the sites for which step 4 succeeded) and `levels` (the numbers of rows that were
    doubled 0, 1, 2, ... times).

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
    """Strategy of randomized training by weighted sampling (RSVM): `PRSVM` on one site.

    Parameters
    ----------
    sample_size : int, optional
        Number of elements of a sample; by default 6 times the square of
        `combinatorial_dimension`, or 2,048 if that is not given either.
    combinatorial_dimension : float, optional
        Largest number of rows that define the optimum; by default sqrt(sample_size / 6).
    max_rounds : int or None, default=30
        As for `PRSVM`.
    until_certified : bool, default=True
        As for `PRSVM`.

    Notes
    -----
    Trace records have the notes that `PRSVM` documents.

    References
    ----------
    Parallel randomized support vector machine (PRSVM). The idea is that of Balcazar, Dai and
    Watanabe (2001), who double misclassified rows instead of violators, for separable data only.

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
