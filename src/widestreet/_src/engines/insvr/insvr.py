"""Exact incremental nu-SVR: one sample at a time, each time to the optimum.

Bin Gu, Victor S. Sheng, Zhijie Wang, Derek Ho, Said Osman, Shuo Li: Incremental learning for
nu-Support Vector Regression, Neural Networks 67 (2015), 140-150. Equation numbers are theirs.

    min  1/2 alpha' Q alpha - sum z y alpha       Q = z z' K / l                              (6)
    s.t. sum z alpha = 0,   sum alpha = C nu l,   0 <= alpha <= C
    g  = Q alpha - z y + z b' + e'   >= 0 on R,   = 0 on S,   <= 0 on E                       (10)

over the extended set of 2l samples (x, y, z = +-1), extended_set.py. A new sample takes
three stages (three_stages.py), each of which follows straight lines (step_to_next_event.py):

1. *initial adjustments* (IA): l becomes l + 1 in Q. Everything times l / (l + 1) is optimal for the
   targets eta y, eta = l / (l + 1); eta rises to 1 under all conditions                     (14)
2. *relaxed adiabatic incremental adjustments* (RAIA): the new sample, alpha = 0, has g < 0 on at
   most one side c. alpha_c rises until g_c = 0 or alpha_c = C, under all conditions but the sum
   of alpha; e' is fixed                                                                     (25)
3. *strict restoration adjustments* (SRA): the sum returns to C nu (l + 1)                   (31)

A line is the product of a right-hand side with the inverse of a bordered matrix (margin_set.py,
bordered_inverse.py): R-check in IA (rows b', e', S'), R in RAIA (rows b', S'), R-hat in SRA (as in
IA, with epsilon < 0 on the diagonal of e'). It is an error if the conditions are violated by more
than 1e-8 max(1, max |y|) at the end.

Special cases, counted in `StageCounts`:

- *Conflict-1*: S has one label only and c has the other one, so that alpha_c could not rise under
  both sums.
- *Conflict-2*: S has one label only, and of the sum of alpha and e' only e' can move.
- *SC-1*: S has one label only during IA, and the row of e' is left out.
- *SC-2*: several samples are in S with both sides (e' = 0), which would make the matrix singular:
  lower sides, the set M of the paper, are held fixed, S' = S - M.

Differences from the paper:

- (3) lacks a factor l in its first term; taken literally it is the problem of LIBSVM, in which Q
  does not depend on l: `scaling="libsvm"`, where IA has nothing to do.
- Section 3.1.1 leaves out the row of e' if |sum z_S| is not |S|. It must be left out if it is, as
  Theorem 4 says.
- Section 3.1.3 computes R-check for l + 1 from the inverse of Q_SS. For kernels of low rank Q_SS is
  singular; here the bordered inverse is rescaled as a whole (`BorderedInverse.rescale`).
- Corollary 5 fixes all doubled samples except one. In RAIA, without the row of e', one makes the
  matrix singular, and all are fixed.
- S may be empty, and the matrices singular; b' or e' alone move until a variable reaches g = 0.
- Equal samples, and kernels of low rank, are excluded by their Assumption 1; here a variable that
  depends on S is exchanged for one that leaves it, along a line on which no g changes. A variable
  leaves S before RAIA in the same way if S is dependent without the row of e'.
- Without a free variable on one side b' and e' are not unique; the middle is reported, as by LIBSVM
  (bias_and_tube.py).
- The paper starts from a solution; that of one sample is alpha = C nu / 2 twice, b' = y, e' = 0.
- Theorem 2, e' >= 0, needs nu < 1; at nu = 1 both sides of the new sample may have to rise.
"""

from __future__ import annotations

import numpy as np

from widestreet._src.arrays import Floats
from widestreet._src.engines.insvr.bias_and_tube import thresholds
from widestreet._src.engines.insvr.extended_set import (
    ERROR_VECTOR,
    MARGIN_VECTOR,
    REMAINING_VECTOR,
    ExtendedSet,
)
from widestreet._src.engines.insvr.margin_set import MarginSet
from widestreet._src.engines.insvr.three_stages import REMEDY, StageCounts, Stages
from widestreet._src.problems.formulations import Scaling

_LARGEST_VIOLATION = 1e-8  # of max(1, max|y|): rounding of a successful update is far below it
_VIOLATION_ROUNDING = 1e-11  # of max(1, max|y|): a smaller violation of a new sample is rounding
_NEWTON_STEPS = 2  # after each sample: the second one removes the rounding errors of the first


class Insvr:
    """Optimum of nu-SVR while samples are added one by one.

    Callers must pass finite values and parameters in their ranges.

    Parameters
    ----------
    C : float
        Upper bound of the variables. The C of LIBSVM is C / l with `scaling="schoelkopf"`, and C
        with `scaling="libsvm"`.
    nu : float
        Parameter in (0, 1].
    scaling : {"schoelkopf", "libsvm"}
        With "schoelkopf" the kernel matrix is divided by the number of samples.
    epsilon : float
        Negative number of (29); no solution depends on it.
    debug : bool
        If True, the error of the inverse is measured after every change, at a high cost.

    Attributes
    ----------
    counts, last : StageCounts
        Counts over all samples that were added, and over the last one.

    Examples
    --------
    >>> import numpy as np
    >>> from widestreet._src.engines.insvr.insvr import Insvr
    >>> X, y = np.array([0.0, 1.0, 2.0, 3.0]), np.array([0.0, 1.0, 2.0, 3.5])
    >>> machine = Insvr(C=10.0, nu=0.5)
    >>> for i in range(4):
    ...     machine.add(X[:i] * X[i], X[i] ** 2, y[i])
    >>> machine.bias, machine.tube
    (-0.125, 0.125)
    """

    def __init__(
        self,
        C: float,
        nu: float,
        scaling: Scaling = "schoelkopf",
        epsilon: float = -1.0,
        debug: bool = False,
    ) -> None:
        self.C, self.nu, self.scaling, self.epsilon, self.debug = C, nu, scaling, epsilon, debug
        self._clear()

    def _clear(self) -> None:
        self.counts, self.last = StageCounts(), StageCounts()
        self._set = ExtendedSet(self.C)
        self._margin = MarginSet(self._set, self.epsilon, self.debug)

    # -- the optimum -------------------------------------------------------------------------------

    @property
    def coef(self) -> Floats:
        """Net dual coefficient of each sample, in LIBSVM's scale: prediction = K coef + bias."""
        return self._set.coef

    @property
    def bias(self) -> float:
        """Bias b'; the middle of the optimal values if there are several."""
        return thresholds(self._set)[0] if self._set.size else 0.0

    @property
    def tube(self) -> float:
        """Half the width e' of the tube."""
        return thresholds(self._set)[1] if self._set.size else 0.0

    @property
    def alpha(self) -> Floats:
        """Variables of shape (2, l): z = +1, z = -1."""
        return self._set.alpha.reshape(-1, 2).T.copy()

    @property
    def g(self) -> Floats:
        """Gradient (10) at `bias` and `tube`, of shape (2, l)."""
        return self._set.gradient(self.bias, self.tube).reshape(-1, 2).T

    @property
    def inverse_error(self) -> float:
        """Largest entry of |MR - 1| after any change, with `debug` only."""
        return self._margin.largest_error

    # -- changes -----------------------------------------------------------------------------------

    def load(
        self, K: Floats, y: Floats, alpha: Floats | None = None, bound_tolerance: float = 1e-7
    ) -> None:
        """Replace all samples.

        Parameters
        ----------
        K : ndarray of shape (l, l)
        y : ndarray of shape (l,)
        alpha : ndarray of shape (2, l), optional
            Optimum, at most C. Without it samples are added one by one.
        bound_tolerance : float
            Distance from a bound, relative to C, within which alpha is put on it.

        Sets: everything.
        """
        self._clear()
        if alpha is None:
            for i in range(len(y)):
                self.add(K[:i, i], float(K[i, i]), float(y[i]))
        elif len(y):
            self._load_optimum(K, y, alpha, bound_tolerance)

    def add(self, column: Floats, own: float, y: float) -> None:
        """Add one sample and restore the optimum.

        Parameters
        ----------
        column : ndarray of shape (l,)
            Kernel values with the present samples.
        own : float
            Kernel value of the sample with itself.
        y : float

        Sets: everything. After an exception the object must be loaded again.
        """
        stages = Stages(self._set, self._margin)
        self.last = stages.counts
        try:
            self._insert(stages, column, own, y)
        except np.linalg.LinAlgError as error:
            raise RuntimeError(f"sample {self._set.size}: singular matrix; {REMEDY}") from error
        self.last.exchanges = self._margin.exchanges - self.counts.exchanges
        self.counts += self.last

    def _insert(self, stages: Stages, column: Floats, own: float, y: float) -> None:
        """Insert a sample in three stages. Sets: everything."""
        if self._set.size == 0:
            self._insert_first(own, y)
            return
        # 1) make the present samples optimal for the matrix of one more sample (IA)
        if self.scaling == "schoelkopf":
            stages.initial_adjustments()
        # 2) adjust the new sample without the condition on the sum of alpha (RAIA)
        self._set.append(column, own, y)
        for c in (2 * self._set.size - 2, 2 * self._set.size - 1):
            if self._set.g[c] < -_VIOLATION_ROUNDING * self._target_scale():
                stages.relaxed_adjustments(c)
        # 3) restore the sum of alpha (SRA)
        stages.restoration_adjustments(self._total())
        violation = self._refine()
        if not violation <= _LARGEST_VIOLATION * self._target_scale():
            raise RuntimeError(
                f"sample {self._set.size}: the conditions are violated by {violation:.1e}; {REMEDY}"
            )

    def _insert_first(self, own: float, y: float) -> None:
        """Insert the first sample, which is in S with both sides. Sets: everything."""
        self._set.append(np.zeros(0), own, y)
        self._set.alpha[:] = 0.5 * self.C * self.nu
        self._set.state[:] = MARGIN_VECTOR
        self._set.bias = y
        self._set.refresh()
        self._margin.sync("ia")

    def _load_optimum(self, K: Floats, y: Floats, alpha: Floats, bound_tolerance: float) -> None:
        """Adopt an optimum: S variable by variable, then Newton steps. Sets: everything."""
        for i in range(len(y)):
            self._set.append(K[:i, i], float(K[i, i]), float(y[i]))
        s = self._set
        s.scale = 1.0 / len(y) if self.scaling == "schoelkopf" else 1.0
        s.alpha[:] = np.clip(alpha.T.ravel(), 0.0, self.C)
        full = s.alpha >= (1 - bound_tolerance) * self.C
        zero = s.alpha <= bound_tolerance * self.C
        s.alpha[full], s.alpha[zero] = self.C, 0.0
        s.state[full], s.state[zero] = ERROR_VECTOR, REMAINING_VECTOR
        s.refresh()
        s.bias, s.tube = thresholds(s)
        for v in np.flatnonzero(~(full | zero)):
            s.state[v] = MARGIN_VECTOR
            self._margin.sync("ia")
        self.counts.exchanges = self._margin.exchanges
        violation = self._refine()
        if not violation <= _LARGEST_VIOLATION * self._target_scale():
            raise ValueError(
                f"alpha is not an optimum: it violates the conditions by {violation:.1e}"
            )

    def _total(self) -> float:
        """Return the sum of alpha at the optimum."""
        return self.C * self.nu * self._set.size

    def _target_scale(self) -> float:
        """Return the scale of violations."""
        return max(1.0, float(np.abs(self._set.y).max()))

    def _refine(self) -> float:
        """Give M the rows of IA, take Newton steps and return the violation. Sets: everything."""
        self._set.leave_at_bounds()
        self._margin.sync("ia")
        self._set.refresh()
        for _ in range(_NEWTON_STEPS):
            self._margin.refine(self._total())
        return self._set.residual()
