"""Nu-support vector regression whose rows come and go."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import numpy as np
from sklearn.utils.validation import check_is_fitted

from widestreet._src.arrays import Floats, Ints
from widestreet._src.engines.insvr.stages import StageCounts
from widestreet._src.estimators import validation
from widestreet._src.estimators.online.insvr_optimum import InsvrOptimum
from widestreet._src.estimators.online.optimum import Optimum
from widestreet._src.estimators.online.path_optimum import PathOptimum
from widestreet._src.estimators.online.problem import OnlineProblem
from widestreet._src.estimators.online.regressor import OnlineRegressor
from widestreet._src.estimators.online.state import OnlineState
from widestreet._src.problems.formulations import NuSVR, Scaling

_CURE = 'method="path" does that; set_params keeps the rows that are there'


class OnlineNuSVR(OnlineRegressor):
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
        check_is_fitted(self, "_state")
        if self._state.counts is None:
            raise AttributeError('there are counts of INSVR with method="insvr" only')
        total, last = self._state.counts
        return replace(total), replace(last)

    def _formulation(self) -> NuSVR:
        validation.require_choice("scaling", self.scaling, ("libsvm", "schoelkopf"))
        return NuSVR(
            C=validation.require_real("C", self.C, above=0.0),
            nu=validation.require_real("nu", self.nu, above=0.0, most=1.0),
            scaling=cast(Scaling, self.scaling),
        )

    # -- what INSVR cannot do ----------------------------------------------------------------------

    def _check_parameters(self) -> None:
        super()._check_parameters()
        validation.require_choice("method", self.method, ("path", "insvr"))
        if self.method != "insvr":
            return
        if self.max_rows is not None:
            raise ValueError(
                f'max_rows={self.max_rows!r}: method="insvr" cannot forget rows; {_CURE}'
            )
        if hasattr(self, "_state"):
            self._check_weights(self._state.store.weight)

    def _check_weights(self, weight: Floats, before: Floats | None = None) -> None:
        if self.method != "insvr":
            return
        if before is not None and (before != weight).any():
            raise ValueError(
                f'method="insvr" can neither forget rows nor change their weights; {_CURE}'
            )
        broken = weight[weight != weight.round()]
        if len(broken):
            raise ValueError(
                f'sample_weight={float(broken[0])!r} is no whole number, and method="insvr" knows '
                f"no other weights; {_CURE}"
            )

    # -- the optimum -------------------------------------------------------------------------------

    def _solve(
        self,
        state: OnlineState,
        problem: OnlineProblem,
        members: Ints,
        beta: Floats | None = None,
    ) -> Optimum:
        kind = InsvrOptimum if self.method == "insvr" else PathOptimum
        return kind(state.store, members, problem, self._settings(), beta)

    def _arrange(self, state: OnlineState, new: Ints) -> None:
        """Extend the base method: switch optima to `method`, and count what INSVR did.

        After a failure INSVR begins with the rows that were there before. Sets: state.
        """
        published, problem = self.method == "insvr", OnlineProblem(self._formulation())
        for key, optimum in state.optima.items():
            if isinstance(optimum, InsvrOptimum) != published:
                state.optima[key] = self._solve(state, problem, optimum.members, optimum.beta)
        old = np.setdiff1d(np.arange(state.store.n), new)
        if published and not state.optima and state.store.weight[old].any():
            state.optima[None] = self._solve(state, problem, old)
        super()._arrange(state, new)
        before, state.counts = state.counts, None
        if published:
            total, last = StageCounts(), StageCounts()
            total += before[0] if before is not None else StageCounts()
            for optimum in state.optima.values():
                assert isinstance(optimum, InsvrOptimum)
                last += optimum.last
            total += last
            state.counts = total, last
