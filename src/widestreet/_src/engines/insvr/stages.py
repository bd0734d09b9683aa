"""Exact incremental nu-SVR: one sample at a time, each time to the optimum.

Bin Gu, Victor S. Sheng, Zhijie Wang, Derek Ho, Said Osman, Shuo Li: Incremental learning for
nu-Support Vector Regression, Neural Networks 67 (2015), 140-150. Equation numbers are theirs.

    min  1/2 alpha' Q alpha - sum z y alpha       Q = z z' K / l                              (6)
    s.t. sum z alpha = 0,   sum alpha = C nu l,   0 <= alpha <= C
    g  = Q alpha - z y + z b' + e'   >= 0 on R,   = 0 on S,   <= 0 on E                       (10)

over the extended set of 2l samples (x, y, z = +-1), `extended.py`. The stages of a new sample:

1. *initial adjustments* (IA): l becomes l + 1 in Q. Everything times l / (l + 1) is optimal for the
   targets eta y, eta = l / (l + 1); eta rises to 1 under all conditions                     (14)
2. *relaxed adiabatic incremental adjustments* (RAIA): the new sample, alpha = 0, has g < 0 on at
   most one side c. alpha_c rises until g_c = 0 or alpha_c = C, under all conditions but the sum
   of alpha; e' stands still                                                                 (25)
3. *strict restoration adjustments* (SRA): the sum returns to C nu (l + 1)                   (31)

Each stage follows straight lines, and a line ends where a variable changes its set (18, 19). A line
is a product with the inverse of a bordered matrix, `margin_set.py` and `bordered.py`: R-check in IA
(rows b', e', S'), R in RAIA (rows b', S'), R-hat in SRA (as in IA, with epsilon < 0 on the diagonal
of e'). At the end no condition may be violated by more than 1e-8 max(1, max |y|), else it raises.

Special cases, counted in `Counts`. *Conflict-1*: S has one label only and c the other one, so that
alpha_c could not rise under both sums. *Conflict-2*: S has one label only, and of the sum of alpha
and e' only e' can move. *SC-1*: S has one label only during IA, and the row of e' is left out.
*SC-2*: several samples are in S with both sides (e' = 0), more than the matrix can bear: lower
sides, the set M of the paper, are held still, S' = S - M.

Where this differs from the paper:

- (3) lacks a factor l in its first term; taken literally it is the problem of LIBSVM, in which Q
  does not depend on l: `scaling="libsvm"`, where IA has nothing to do.
- Section 3.1.1 leaves out the row of e' if |sum z_S| is not |S|; Theorem 4 has it right: if it is.
- Section 3.1.3 makes R-check for l + 1 from the inverse of Q_SS, which is singular for kernels of
  low rank; here the bordered inverse is rescaled as a whole (`Bordered.rescale`).
- Corollary 5 holds back all doubled samples but one; in RAIA, without the row of e', one is already
  too many, and all are held back.
- S may be empty, and the matrices singular; b' or e' alone move until somebody reaches g = 0.
- Equal samples, and kernels of low rank, are excluded by their Assumption 1; here a variable that
  depends on S is exchanged for one that leaves it, along a line on which no g changes, and S sheds
  a variable before RAIA in the same way if it depends without the row of e'.
- Without a free variable on one side b' and e' are not unique; the middle is reported, as LIBSVM's.
- The paper begins from a solution; that of one sample is alpha = C nu / 2 twice, b' = y, e' = 0.
- Theorem 2, e' >= 0, needs nu < 1; at nu = 1 both sides of the new sample may have to rise.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Literal, TypeAlias

import numpy as np

from widestreet._src.arrays import Floats
from widestreet._src.engines.insvr.extended_set import ERROR, MARGIN, REST, Extended, Move
from widestreet._src.engines.insvr.margin_set import MarginSet, Stage

Scaling: TypeAlias = Literal["schoelkopf", "libsvm"]

TOLERANCE = 1e-8  # of max(1, max|y|): violations beyond it are an error
_VIOLATES = 1e-11  # of max(1, max|y|): less than this is rounding
_RESTORED = 1e-14  # of C nu l: the same for the sum of alpha
_ZEROS = 5  # steps of no length before ties are broken by index
_STEPS = 100  # for each sample there is, before it is given up
_REFINEMENTS = 2
_CURE = 'method="path" deals with such data'


@dataclass
class Counts:
    """Steps of each stage, and how many of them met a special case.

    Attributes
    ----------
    held : int
        Steps with sides held still: those of SC-2, and those of RAIA with one doubled sample.
    empty : int
        Steps with an empty S, in which b' or e' alone could move.
    exchanges : int
        Variables exchanged, or shed, because they depended on the others of S.
    """

    ia: int = 0
    raia: int = 0
    sra: int = 0
    conflict_1: int = 0
    conflict_2: int = 0
    sc_1: int = 0
    sc_2: int = 0
    held: int = 0
    empty: int = 0
    exchanges: int = 0

    def __iadd__(self, other: Counts) -> Counts:
        for name, value in asdict(other).items():
            setattr(self, name, getattr(self, name) + value)
        return self


class Insvr:
    """The optimum of nu-SVR, kept while samples arrive one by one.

    Parameters
    ----------
    C : float
        The box. LIBSVM's C is C / l with `scaling="schoelkopf"`, and C with `scaling="libsvm"`.
    nu : float
        In (0, 1].
    scaling : {"schoelkopf", "libsvm"}
        Whether the kernel matrix is divided by the number of samples.
    epsilon : float
        The negative number of (29); it changes no solution.
    debug : bool
        Measure the inverse after every change, which costs more than the change.

    Attributes
    ----------
    counts, last : Counts
        Of all samples that were added, and of the last one.

    Examples
    --------
    >>> import numpy as np
    >>> from widestreet._src.engines.insvr.stages import Insvr
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
        _check_parameters(C, nu, scaling, epsilon)
        self.C, self.nu, self.scaling, self.epsilon, self.debug = C, nu, scaling, epsilon, debug
        self._clear()

    def _clear(self) -> None:
        self.counts, self.last = Counts(), Counts()
        self._set = Extended(self.C)
        self._margin = MarginSet(self._set, self.epsilon, self.debug)
        self._zeros = 0

    # -- what can be read ------------------------------------------------------------------------

    @property
    def coef(self) -> Floats:
        """Net dual coefficient of each sample, in LIBSVM's scale: prediction = K coef + bias."""
        return self._set.coef

    @property
    def bias(self) -> float:
        """The bias b'; the middle of the possible values if there are several."""
        return self._set.thresholds()[0] if self._set.size else 0.0

    @property
    def tube(self) -> float:
        """Half the width e' of the tube."""
        return self._set.thresholds()[1] if self._set.size else 0.0

    @property
    def alpha(self) -> Floats:
        """Variables of shape (2, l): z = +1, z = -1."""
        return self._set.alpha.reshape(-1, 2).T.copy()

    @property
    def g(self) -> Floats:
        """The gradient (10) at `bias` and `tube`, of shape (2, l)."""
        return self._set.gradient(self.bias, self.tube).reshape(-1, 2).T

    @property
    def inverse_error(self) -> float:
        """With `debug`, the largest entry of |MR - 1| that there has been after any change."""
        return self._margin.error

    # -- what can be done ------------------------------------------------------------------------

    def load(self, K: Floats, y: Floats, alpha: Floats | None = None, snap: float = 1e-7) -> None:
        """Begin from several samples at once, forgetting all there were.

        Parameters
        ----------
        K : ndarray of shape (l, l)
        y : ndarray of shape (l,)
        alpha : ndarray of shape (2, l), optional
            An optimum, at most C. Without it samples are added one by one.
        snap : float
            Of C: what of alpha is taken for a bound.

        Sets: everything.
        """
        K, y = np.asarray(K, dtype=np.float64), np.asarray(y, dtype=np.float64)
        if y.ndim != 1 or K.shape != (len(y), len(y)):
            raise ValueError(f"K must be square with a row for each y, got {K.shape} and {y.shape}")
        _check_finite(K, y)
        self._clear()
        if alpha is None:
            for i in range(len(y)):
                self.add(K[:i, i], float(K[i, i]), float(y[i]))
        elif len(y):
            self._adopt(K, y, np.asarray(alpha, dtype=np.float64), snap)

    def add(self, column: Floats, own: float, y: float) -> None:
        """Add one sample and restore the optimum.

        Parameters
        ----------
        column : ndarray of shape (l,)
            Kernel values with the samples there are.
        own : float
            The kernel value with itself.
        y : float

        Sets: everything. After an exception the object must be loaded again.
        """
        column = np.asarray(column, dtype=np.float64)
        _check_sample(column, own, y, self._set.size)
        self.last, self._zeros = Counts(), 0
        try:
            self._insert(column, own, y)
        except np.linalg.LinAlgError as error:
            raise RuntimeError(f"sample {self._set.size}: singular matrix; {_CURE}") from error
        self.last.exchanges = self._margin.exchanges - self.counts.exchanges
        self.counts += self.last

    def _insert(self, column: Floats, own: float, y: float) -> None:
        """The three stages. Sets: everything."""
        if self._set.size == 0:
            self._first(own, y)
            return
        # 1) the old samples optimal in the matrix of one more (IA)
        if self.scaling == "schoelkopf":
            self._initial()
        # 2) the new one without regard to the sum of alpha (RAIA)
        self._set.append(column, own, y)
        for c in (2 * self._set.size - 2, 2 * self._set.size - 1):
            if self._set.g[c] < -_VIOLATES * self._size():
                self._relax(c)
        # 3) the sum of alpha (SRA)
        self._restore()
        left = self._settled()
        if not left <= TOLERANCE * self._size():
            raise RuntimeError(f"sample {self._set.size}: violation of {left:.1e}; {_CURE}")

    # -- the first sample, and several at once ---------------------------------------------------

    def _first(self, own: float, y: float) -> None:
        """One sample: in S with both sides. Sets: everything."""
        self._set.append(np.zeros(0), own, y)
        self._set.alpha[:] = 0.5 * self.C * self.nu
        self._set.state[:] = MARGIN
        self._set.bias = y
        self._set.refresh()
        self._margin.sync("ia")

    def _adopt(self, K: Floats, y: Floats, alpha: Floats, snap: float) -> None:
        """Take over an optimum: S one by one, then a Newton step. Sets: everything."""
        if alpha.shape != (2, len(y)):
            raise ValueError(f"alpha must have shape (2, {len(y)}), got {alpha.shape}")
        for i in range(len(y)):
            self._set.append(K[:i, i], float(K[i, i]), float(y[i]))
        s = self._set
        s.scale = 1.0 / len(y) if self.scaling == "schoelkopf" else 1.0
        s.alpha[:] = np.clip(alpha.T.ravel(), 0.0, self.C)
        full, zero = s.alpha >= (1 - snap) * self.C, s.alpha <= snap * self.C
        s.alpha[full], s.alpha[zero] = self.C, 0.0
        s.state[full], s.state[zero] = ERROR, REST
        s.refresh()
        s.bias, s.tube = s.thresholds()
        for v in np.flatnonzero(~(full | zero)):
            s.state[v] = MARGIN
            self._margin.sync("ia")
        self.counts.exchanges = self._margin.exchanges
        left = self._settled()
        if not left <= TOLERANCE * self._size():
            raise ValueError(f"alpha is not an optimum: it violates the conditions by {left:.1e}")

    # -- the three stages ------------------------------------------------------------------------

    def _initial(self) -> None:
        """IA: l -> l + 1 in Q, and eta from l / (l + 1) to 1. Sets: everything."""
        s = self._set
        eta, s.scale = s.size / (s.size + 1), 1.0 / (s.size + 1)
        s.g[:] *= eta
        s.bias, s.tube = s.bias * eta, s.tube * eta
        self._margin.bordered.rescale(eta)
        pull = s.pull
        while eta < 1.0:
            self._begin("ia")
            self.last.sc_1 += self._margin.one_label
            move = self._margin.move(self._margin.right(0.0, 0.0, pull), pull=pull)
            step, who = self._follow(move, 1.0 - eta)
            eta = 1.0 if who is None else eta + step
            self._margin.sync("ia")

    def _relax(self, c: int) -> None:
        """RAIA: alpha_c rises from zero until the conditions on g hold. Sets: everything."""
        s, margin, z_c = self._set, self._margin, 1 - 2 * (c & 1)
        margin.shed()
        margin.sync("raia")
        while s.g[c] < 0:
            self._begin("raia")
            self.last.conflict_1 += margin.one_label and bool(s.z[s.margin[0]] != z_c)
            if margin.empty:
                move = s.move(np.zeros(0, dtype=np.int64), np.zeros(0), float(z_c), 0.0)
            else:
                move = margin.move(-margin.entries(margin.bordered.keys, [c])[:, 0], driven=c)
            move.noise[c ^ 1] = np.inf  # the other side has g = 2e' - g_c and can wait
            rises = move.g[c] > move.noise[c]
            _, who = self._follow(move, -s.g[c] / move.g[c] if rises else np.inf)
            if who == c:  # alpha_c = C
                return
            if who is None:
                s.g[c] = 0.0
            margin.sync("raia")
        if s.alpha[c] > 0:
            s.state[c] = MARGIN
            margin.sync("raia")

    def _restore(self) -> None:
        """SRA: the sum of alpha returns to C nu l. Sets: everything."""
        s, margin, total = self._set, self._margin, self._total()
        margin.sync("sra")
        who: int | None = -1
        while who is not None and abs(total - float(s.alpha.sum())) > _RESTORED * total:
            self._begin("sra")
            self.last.conflict_2 += margin.one_label
            short = total - float(s.alpha.sum())
            move = margin.move(margin.right(0.0, np.sign(short), np.zeros(2 * s.size)))
            speed = np.sign(short) * float(move.rate.sum())
            stuck = margin.empty or margin.one_label or speed <= 0
            _, who = self._follow(move, np.inf if stuck else abs(short) / speed)
            margin.sync("sra")

    def _begin(self, stage: Stage) -> None:
        """Count a step and what it meets, and give up after too many. Sets: last."""
        done = getattr(self.last, stage) + 1
        setattr(self.last, stage, done)
        self.last.empty += self._margin.empty
        self.last.sc_2 += len(self._set.doubled) > 1
        self.last.held += self._margin.holds
        if done > _STEPS * (self._set.size + 1):
            raise RuntimeError(f"sample {self._set.size}: not settled in {done} steps; {_CURE}")

    def _follow(self, move: Move, limit: float) -> tuple[float, int | None]:
        """Follow a line to its end; the variable found there changes its set. Sets: everything."""
        s = self._set
        step, who = s.largest(move, limit, self._zeros > _ZEROS)
        if not np.isfinite(step):
            raise RuntimeError(f"sample {s.size}: a line without an end; {_CURE}")
        s.advance(move, step)
        self._zeros = self._zeros + 1 if step == 0 else 0
        if who is not None and who in move.members:
            s.leave(who, bool(move.rate[move.members == who] > 0))
        elif who is not None:
            s.g[who], s.state[who] = 0.0, MARGIN
        return step, who

    # -- the end of a sample ---------------------------------------------------------------------

    def _total(self) -> float:
        return self.C * self.nu * self._set.size

    def _size(self) -> float:
        """What violations are compared with."""
        return max(1.0, float(np.abs(self._set.y).max()))

    def _settled(self) -> float:
        """Make R-check of R-hat and clear away rounding; the violation left. Sets: everything."""
        self._set.drop_bound()
        self._margin.sync("ia")
        self._set.refresh()
        for _ in range(_REFINEMENTS):
            self._margin.refine(self._total())
        return self._set.residual()


def _check_parameters(C: float, nu: float, scaling: str, epsilon: float) -> None:
    if not 0 < C < np.inf:
        raise ValueError(f"C must be positive and finite, got {C!r}")
    if not 0 < nu <= 1:
        raise ValueError(f"nu must be in (0, 1], got {nu!r}")
    if scaling not in ("schoelkopf", "libsvm"):
        raise ValueError(f'scaling must be "schoelkopf" or "libsvm", got {scaling!r}')
    if not -np.inf < epsilon < 0:
        raise ValueError(f"epsilon must be negative and finite, got {epsilon!r}")


def _check_sample(column: Floats, own: float, y: float, size: int) -> None:
    if column.shape != (size,):
        raise ValueError(f"column must have shape ({size},), got {column.shape}")
    _check_finite(column, own, y)


def _check_finite(*values: Floats | float) -> None:
    if not all(np.isfinite(value).all() for value in values):
        raise ValueError("kernel values and targets must be finite")
