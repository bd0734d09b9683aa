"""Online nu-support vector regression."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import numpy as np
from sklearn.utils.validation import check_is_fitted

from widestreet._src import checks
from widestreet._src.arrays import Floats, Ints
from widestreet._src.engines.insvr.three_stages import StageCounts
from widestreet._src.estimators.online.insvr_optimum import InsvrOptimum
from widestreet._src.estimators.online.intake import batch_settings
from widestreet._src.estimators.online.optimum import Optimum
from widestreet._src.estimators.online.path_optimum import PathOptimum
from widestreet._src.estimators.online.problem import OnlineProblem
from widestreet._src.estimators.online.regressor import OnlineRegressor
from widestreet._src.estimators.online.state import OnlineState
from widestreet._src.problems.formulations import NuSVR, Scaling

_CURE = 'set_params(method="path") keeps the stored rows and can do this'


class OnlineNuSVR(OnlineRegressor):
    """Nu-support vector regression, exact after every added or removed row.

    Parameters
    ----------
    nu : float, default=0.5
        Upper bound on the fraction of rows outside the tube and lower bound on the fraction of
        support vectors, by weight.
    C : float, default=1.0
        Penalty of a residual beyond the tube.
    scaling : {"libsvm", "schoelkopf"}, default="libsvm"
        Meaning of C: penalty per row, as in LIBSVM, or divided by the sum of the weights, as in the
        papers that introduced nu-SVR. With "schoelkopf" every added row lowers the penalty of all
        other rows.
    method : {"path", "insvr"}, default="path"
        Algorithm that updates the optimum. "path" is a homotopy. "insvr" is the published algorithm
        (Gu et al., Incremental learning for nu-support vector regression, Neural Networks 67,
        2015): the batch engine solves the rows of the first call, and all other rows are added one
        by one in three stages. Both end at the same optimum. "insvr" is slower, keeps all kernel
        values in memory and can only add rows. Its weights must be integers; a weight of two means
        two samples.
    kernel : {"rbf", "linear", "poly", "laplacian"} or callable, default="rbf"
        Kernel function, which must be positive semidefinite.
    degree : int, default=3
        Degree of the polynomial kernel.
    gamma : {"scale", "auto"} or float, default="scale"
        Coefficient of the kernel. "scale" and "auto" are computed from the rows of the first call
        and then kept.
    coef0 : float, default=0.0
        Constant in the polynomial kernel; not negative.
    tol : float, default=1e-8
        Largest violation of the optimality conditions, relative to max(1, max |y|), at which
        `verify` reports "optimal".
    max_rows : int, default=None
        Largest number of rows stored. When more are added, the oldest are removed.
    random_state : int, RandomState or None, default=None
        Seed of the batch engine, which computes the first optimum.
    max_memory : int, float or str, default=None
        Memory limit of the batch engine, and of the kernel values that method="insvr" keeps.
    n_jobs : int, default=None
        Number of threads; None uses all processors available to the process.

    Attributes
    ----------
    epsilon_ : float
        Half the width of the tube.
    insvr_counts_, insvr_last_counts_ : StageCounts
        Counts of INSVR over all rows that it added, and over those of the last call; with
        method="insvr" only. `ia`, `raia` and `sra` count the steps of its stages, and
        `conflict_1`, `conflict_2`, `sc_1` and `sc_2` count special cases.

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
        """Counts of INSVR over all rows that it added, with method="insvr".

        `ia`, `raia` and `sra` count the steps of the three stages; `conflict_1`, `conflict_2`,
        `sc_1` and `sc_2` count the special cases of the paper; `held`, `empty` and `exchanges`
        count cases that the paper does not treat. Rows of the first call or of a file are not
        added by INSVR and are not counted.
        """
        return self._counted()[0]

    @property
    def insvr_last_counts_(self) -> StageCounts:
        """Counts of INSVR over the rows of the last call, with method="insvr"."""
        return self._counted()[1]

    def _counted(self) -> tuple[StageCounts, StageCounts]:
        check_is_fitted(self, "_state")
        if self.method != "insvr":
            raise AttributeError('counts of INSVR exist only with method="insvr"')
        total, last = self._state.counts or (StageCounts(), StageCounts())
        return replace(total), replace(last)

    def _formulation(self) -> NuSVR:
        checks.require_choice("scaling", self.scaling, ("libsvm", "schoelkopf"))
        return NuSVR(
            C=checks.require_real("C", self.C, above=0.0),
            nu=checks.require_real("nu", self.nu, above=0.0, most=1.0),
            scaling=cast(Scaling, self.scaling),
        )

    # -- what INSVR cannot do ----------------------------------------------------------------------

    def _check_parameters(self) -> None:
        super()._check_parameters()
        checks.require_choice("method", self.method, ("path", "insvr"))
        if self.method != "insvr":
            return
        if self.max_rows is not None:
            raise ValueError(
                f'max_rows={self.max_rows!r}: method="insvr" cannot remove rows; {_CURE}'
            )

    def _check_weights(self, weight: Floats, before: Floats | None = None) -> None:
        if self.method != "insvr":
            return
        if before is not None and (before != weight).any():
            raise ValueError(
                f'method="insvr" can neither remove rows nor change their weights; {_CURE}'
            )
        broken = weight[weight != weight.round()]
        if len(broken):
            raise ValueError(
                f'sample_weight={float(broken[0])!r} is not an integer, but method="insvr" needs '
                f"integers; {_CURE}"
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
        return kind(state.store, members, problem, batch_settings(self), beta)

    def _arrange(self, state: OnlineState, new: Ints) -> None:
        """Extend the base method: switch optima to `method`, and update the counts of INSVR.

        After a failed change INSVR starts again from the rows stored before. Sets: state.
        """
        self._check_weights(state.store.weight)
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
                if isinstance(optimum, InsvrOptimum):
                    last += optimum.last
            total += last
            state.counts = total, last
