"""Nu-support vector regression whose rows come and go."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import numpy as np
from sklearn.utils.validation import check_is_fitted

from widestreet._src.arrays import Floats, Ints
from widestreet._src.engines.insvr.stages import StageCounts
from widestreet._src.estimators import validation
from widestreet._src.estimators.nu_svr import NuSVR
from widestreet._src.estimators.online.insvr_optimum import Faithful, NuSvr
from widestreet._src.estimators.online.optimum import Optimum
from widestreet._src.estimators.online.path_optimum import Exact
from widestreet._src.estimators.online.regressor import OnlineRegressor
from widestreet._src.problems.formulations import Scaling
from widestreet._src.training.training import Settings

_CURE = 'method="path" does that; set_params keeps the rows that are there'


class OnlineNuSVR(OnlineRegressor, NuSVR):
    """Nu-support vector regression, exact after every row that comes or goes.

    Parameters
    ----------
    nu : float, default=0.5
        Bounds the part of the rows outside the tube from above, that of the support vectors from
        below.
    C : float, default=1.0
        Price of a residual beyond the tube.
    scaling : {"libsvm", "schoelkopf"}, default="libsvm"
        What C means: the price of a residual, as everywhere else, or that of their mean, C divided
        by the sum of the weights, as in the papers that introduced the machine. Then every row
        that comes makes all others cheaper.
    method : {"path", "insvr"}, default="path"
        How the optimum is kept. "insvr" is the published algorithm (Gu et al., Incremental learning
        for nu-support vector regression, Neural Networks 67, 2015): the rows of the first call are
        solved at once, all others are added one by one in its three stages. It ends where "path"
        does, which is faster and does more: with "insvr" rows can only come, and their weights are
        whole numbers, a weight of two being two samples. All kernel values are kept.
    kernel : {"rbf", "linear", "poly", "laplacian"} or callable, default="rbf"
        It must be positive semidefinite.
    degree : int, default=3
        Of the polynomial kernel.
    gamma : {"scale", "auto"} or float, default="scale"
        "scale" and "auto" are computed from the first rows and kept.
    coef0 : float, default=0.0
        Constant in the polynomial kernel; not negative.
    tol : float, default=1e-8
        What `verify` calls optimal, in parts of the largest target.
    max_rows : int, default=None
        Rows to keep: the oldest are forgotten as new ones come.
    random_state : int, RandomState or None, default=None
        For the batch engine, which finds the first optimum.
    max_memory : int, float or str, default=None
        For the batch engine, and for the kernel values that method="insvr" keeps.
    n_jobs : int, default=None
        Threads; None uses every processor available to the process.

    Attributes
    ----------
    epsilon_ : float
        Half the width of the tube.
    insvr_counts_, insvr_last_counts_ : StageCounts
        With method="insvr" only: what it did for all rows that it added, and for those of the last
        call. Steps of its stages are `ia`, `raia` and `sra`; `conflict_1`, `conflict_2`, `sc_1` and
        `sc_2` say how many of them met that special case.

    Examples
    --------
    >>> from widestreet.datasets import friedman
    >>> from widestreet.online import OnlineNuSVR
    >>> X, y = friedman(300, random_state=0)
    >>> model = OnlineNuSVR(C=10, nu=0.3).fit(X[:200], y[:200])
    >>> model.partial_fit(X[200:], y[200:]).verify().status
    'optimal'
    >>> bool(model.epsilon_ > 0)
    True
    """

    _counts: tuple[StageCounts, StageCounts] | None

    def __init__(
        self,
        *,
        nu: float = 0.5,
        C: float = 1.0,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        tol: float = 1e-8,
        scaling: str = "libsvm",
        method: str = "path",
        max_rows: int | None = None,
        random_state: Any = None,
        max_memory: int | float | str | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.nu = nu
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.scaling = scaling
        self.method = method
        self.max_rows = max_rows
        self.random_state = random_state
        self.max_memory = max_memory
        self.n_jobs = n_jobs

    @property
    def insvr_counts_(self) -> StageCounts:
        """What INSVR did for all rows that were added, with method="insvr".

        The steps of its three stages, `ia`, `raia` and `sra`, and how many of them met a special
        case: `conflict_1`, `conflict_2`, `sc_1`, `sc_2`; and cases that the paper has not,
        `held`, `empty` and `exchanges`. Rows of the first call, or of a file, were not added by
        INSVR.
        """
        return self._counted()[0]

    @property
    def insvr_last_counts_(self) -> StageCounts:
        """The same for the rows of the last call alone."""
        return self._counted()[1]

    def _counted(self) -> tuple[StageCounts, StageCounts]:
        check_is_fitted(self, "_store")
        if self._counts is None:
            raise AttributeError('there are counts of INSVR with method="insvr" only')
        total, last = self._counts
        return replace(total), replace(last)

    # -- what INSVR cannot do ----------------------------------------------------------------------

    def _check_parameters(self) -> None:
        super()._check_parameters()
        validation.require_choice("scaling", self.scaling, ("libsvm", "schoelkopf"))
        validation.require_choice("method", self.method, ("path", "insvr"))
        if self.method != "insvr":
            return
        if self.max_rows is not None:
            raise ValueError(
                f'max_rows={self.max_rows!r}: method="insvr" cannot forget rows; {_CURE}'
            )
        if hasattr(self, "_store"):
            self._check_whole(self._store.weight)

    def _weights(self, sample_weight: Any, rows: int, *, may_vanish: bool) -> Floats:
        weight = super()._weights(sample_weight, rows, may_vanish=may_vanish)
        if self.method == "insvr":
            self._check_whole(weight)
        return weight

    def _check_whole(self, weight: Floats) -> None:
        broken = weight[weight != weight.round()]
        if len(broken):
            raise ValueError(
                f'sample_weight={float(broken[0])!r} is no whole number, and method="insvr" knows '
                f"no other weights; {_CURE}"
            )

    def _check_change(self, rows: Ints, weight: Floats | float) -> None:
        if self.method == "insvr" and (self._store.weight[rows] != weight).any():
            raise ValueError(
                f'method="insvr" can neither forget rows nor change their weights; {_CURE}'
            )

    # -- the optimum -------------------------------------------------------------------------------

    def _make(self, key: Any) -> NuSvr:
        return NuSvr(float(self.C), float(self.nu), cast(Scaling, self.scaling))

    def _solved(
        self, key: Any, members: Ints, settings: Settings, beta: Floats | None = None
    ) -> Optimum:
        kind = Faithful if self.method == "insvr" else Exact
        return kind(self._store, members, self._make(key), settings, beta)

    def _arrange(self, new: Ints, settings: Settings) -> None:
        """As ever, but by this method; after a failure INSVR begins with the rows that were there.

        Sets: problems.
        """
        published = self.method == "insvr"
        for key, problem in self._problems.items():
            if isinstance(problem, Faithful) != published:
                self._problems[key] = self._solved(key, problem.members, settings, problem.beta)
        old = np.setdiff1d(np.arange(self._store.n), new)
        if published and not self._problems and self._store.weight[old].any():
            self._problems[None] = self._solved(None, old, settings)
        super()._arrange(new, settings)

    def _publish(self) -> None:
        super()._publish()
        before, self._counts = getattr(self, "_counts", None), None
        if self.method == "insvr":
            total, last = StageCounts(), StageCounts()
            total += before[0] if before is not None else StageCounts()
            for problem in self._problems.values():
                assert isinstance(problem, Faithful)
                last += problem.last
            total += last
            self._counts = total, last
