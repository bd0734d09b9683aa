"""Ensembles of partially trained machines: a classifier without C to tune."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np

from widestreet._src.arrays import Floats, Ints
from widestreet._src.engines.budget import parse_memory
from widestreet._src.engines.multiplicative.engine import FixedRate, Projection
from widestreet._src.estimators import validation
from widestreet._src.estimators.batch import Prepared
from widestreet._src.estimators.batch_classifier import BatchClassifier
from widestreet._src.estimators.stacklevel import level_of_caller
from widestreet._src.kernels.kernels import Callable, Precomputed
from widestreet._src.problems.formulations import Formulation, HardMargin
from widestreet._src.problems.pairs import PairLayout
from widestreet._src.reporting.observers import Observers
from widestreet._src.threads import resolve_threads
from widestreet._src.training.ensemble import streams, train_ensembles
from widestreet._src.training.ensemble_plan import Plan
from widestreet._src.training.outcome import Trained
from widestreet._src.training.settings import Resources

_GROWTH = 1.1  # of e after a step that was taken; larger ones waste more steps than they save
_MANY = 10_000  # rows, with which it matters
_TOGETHER = 1 << 24  # decision values of stages that are computed at a time


class EnsembleSVC(BatchClassifier):
    """Ensemble of partially trained hard-margin machines: no C to tune.

    Multiplicative updates lead from a Parzen window classifier, in which all rows have equal
    weights, towards the hard-margin machine with the widest street through the origin (Tsang and
    Kwok, 2007). The mean of all classifiers on the way, each weighted by the length of the step
    that left it, is nearly as good as the best soft-margin machine, on noisy data too, and has
    nothing to tune but the kernel. It is one expansion in kernel values, like any other machine.

    Parameters
    ----------
    kernel : {"rbf", "linear", "poly", "laplacian", "precomputed"} or callable, default="rbf"
        It must be positive semidefinite.
    degree : int, default=3
        Of the polynomial kernel.
    gamma : {"paper", "scale", "auto"} or float, default="paper"
        "paper" is 1 / (mean squared distance of the rows to their mean); the others are those of
        `SVC`.
    coef0 : float, default=0.0
        Constant in the polynomial kernel; not negative.
    aggregate : {"ensemble", "last", "parzen"}, default="ensemble"
        What becomes the model: the mean of the members; the last of them, which is the hard-margin
        machine as far as it was trained; or the first, the Parzen window classifier.
    epsilon : float, default=0.005
        Training ends when even steps that lower the margin by this part overshoot.
    epsilon_start : float, default=0.1
        The part by which the first steps lower it.
    learning_rate : {"adaptive", "literal"} or float, default="adaptive"
        How long steps are. Both words find the length of each step by a line search and halve its
        ambition if it overshoots: "literal" for good, as in the paper, "adaptive" lets it grow
        again. A number is the length of all steps; then training ends with the first that does not
        lower the margin.
    folds : int, default=5
        The ensemble has as many members as are best for rows that were left out of training, in
        this many parts; training takes two to four times as long then. None keeps all members, and
        `learning_rate="literal", folds=None` is the paper to the letter.
    rank : int or float, default=None
        None computes with the kernel as it is. A whole number is the rank of an approximation,
        which makes each step cost rows * rank instead of rows * rows; a number below 1 is the part
        of the kernel's trace that the approximation may miss. The certificate is of the exact
        kernel in any case.
    intercept : bool, default=False
        Whether the street may lie off the origin: 1 is added to all kernel values. That is little
        beside those of "linear" and "poly" for rows far from the origin: centre them.
    prune : float, default=1e-3
        Rows with the smallest coefficients are left out as long as no decision value can change by
        more than this part of the largest value that any row could have.
    class_weight : dict or "balanced", default=None
        Multiplies the weights of the rows of each class.
    keep_stages : bool, default=False
        Whether to keep the coefficients of every step, for `staged_decision_function`: as many
        numbers as rows times steps.
    verbose : int or bool, default=False
        1 shows a live line, 2 also a line per step.
    max_iter : int, default=10000
        Limit on steps for each pair of classes; -1 is no limit.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        For more than two classes: a decision value for each class, or for each pair of them.
    random_state : int, RandomState or None, default=None
        Draws the rows that an approximation of the kernel is made of.
    max_time : float, default=None
        Seconds after which training stops with what there is.
    max_memory : int, float or str, default=None
        Bytes, or a string such as "2GB", for everything beside the data; a quarter of the
        machine's memory by default. A kernel matrix that fits into half of it is held.
    n_jobs : int, default=None
        Threads; None uses every processor available to the process.
    on_interrupt : {"raise", "keep"}, default="raise"
        After Ctrl-C the model is complete and usable in both cases; "keep" also swallows the
        KeyboardInterrupt.

    Attributes
    ----------
    classes_ : ndarray
        Labels of the classes that have a row of positive weight.
    support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_, class_weight_
        As for `SVC`; the sizes of the coefficients of two classes add up to one, but for what was
        pruned.
    pruning_bound_ : ndarray of shape (n_pairs,)
        By how much decision values may have been changed by leaving rows out, as a part of the
        largest value any row could have, |w| times the root of K(x, x).
    trace_left_ : ndarray of shape (n_pairs,)
        The part of the kernel's trace that its approximation does not have.
    certificate_ : Certificate
        How far the model is from the hard-margin machine, with the exact kernel: "approximate" as
        asked for, "optimal" if it is within `epsilon`. Of several pairs, the worst.
    certificates_ : list of Certificate
        One for each pair of classes.
    trace_ : Trace
        One record per step, the beginning included; its notes are "rho", which falls to what the
        hard-margin machine has, "lower_bound" on that, and "eta" and "epsilon" of the step.
    n_iter_ : ndarray of shape (n_pairs,)
        Steps taken for each pair, and one if there was none.
    n_members_ : ndarray of shape (n_pairs,)
        How many of them belong to the ensemble.
    n_kernel_values_ : int
        Kernel values computed, the certificate's included.
    fit_status_, shape_fit_
        As for `SVC`.

    Notes
    -----
    Weights of rows are where the updates begin: the prior of the Parzen window. A weight of two is
    the same as a repeated row, as everywhere else. But unlike the weights of `SVC` they lose their
    influence along the way; the hard-margin machine itself has none.

    Examples
    --------
    >>> from widestreet import EnsembleSVC
    >>> from widestreet.datasets import checkerboard
    >>> X, y = checkerboard(1000, random_state=0)
    >>> model = EnsembleSVC(gamma=2.0).fit(X, y)
    >>> bool(model.score(X, y) > 0.95)
    True
    >>> model.certificate_.status
    'approximate'
    """

    aggregate: str
    intercept: bool

    n_members_: Ints
    pruning_bound_: Floats
    trace_left_: Floats
    _stages: _Stages | None

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: float | str = "paper",
        coef0: float = 0.0,
        aggregate: str = "ensemble",
        epsilon: float = 0.005,
        epsilon_start: float = 0.1,
        learning_rate: float | str = "adaptive",
        folds: int | None = 5,
        rank: int | float | None = None,
        intercept: bool = False,
        prune: float = 1e-3,
        class_weight: Any = None,
        keep_stages: bool = False,
        verbose: int | bool = False,
        max_iter: int = 10_000,
        decision_function_shape: str = "ovr",
        random_state: Any = None,
        max_time: float | None = None,
        max_memory: int | float | str | None = None,
        n_jobs: int | None = None,
        on_interrupt: str = "raise",
    ) -> None:
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.aggregate = aggregate
        self.epsilon = epsilon
        self.epsilon_start = epsilon_start
        self.learning_rate = learning_rate
        self.folds = folds
        self.rank = rank
        self.intercept = intercept
        self.prune = prune
        self.class_weight = class_weight
        self.keep_stages = keep_stages
        self.verbose = verbose
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.random_state = random_state
        self.max_time = max_time
        self.max_memory = max_memory
        self.n_jobs = n_jobs
        self.on_interrupt = on_interrupt

    # -- training --------------------------------------------------------------------------------

    def _settings(self) -> Resources:
        validation.require_choice(
            "decision_function_shape", self.decision_function_shape, ("ovr", "ovo")
        )
        validation.check_class_weight(self.class_weight)
        validation.require_choice("on_interrupt", self.on_interrupt, ("raise", "keep"))
        max_time = self.max_time
        if max_time is not None:
            max_time = validation.require_real("max_time", max_time, above=0.0)
        return Resources(
            max_steps=validation.require_limit("max_iter", self.max_iter),
            max_time=max_time,
            max_memory=parse_memory(self.max_memory),
            threads=resolve_threads(self.n_jobs),
            verbose=validation.require_level("verbose", self.verbose),
            rng=validation.resolve_rng(self.random_state),
        )

    def _formulation(self) -> HardMargin:
        self._plan()  # refuses bad parameters before it looks at data
        return HardMargin()

    def _plan(self) -> Plan:
        """The parameters that no other machine has, checked."""
        least = validation.require_real("epsilon", self.epsilon, above=0.0)
        start = validation.require_real("epsilon_start", self.epsilon_start, above=0.0)
        if start < least:
            raise ValueError(
                f"epsilon_start={self.epsilon_start!r} must not be less than "
                f"epsilon={self.epsilon!r}: steps begin large and get smaller"
            )
        pace: Projection | FixedRate
        if isinstance(self.learning_rate, str):
            choices = ("adaptive", "literal")
            literal = validation.require_choice("learning_rate", self.learning_rate, choices)
            pace = Projection(start, least, 1.0 if literal == "literal" else _GROWTH)
        else:
            pace = FixedRate(
                validation.require_real("learning_rate", self.learning_rate, above=0.0)
            )
        folds = 0
        if self.folds is not None:
            folds = validation.require_integer("folds", self.folds, least=2, none="None")
        rank = self.rank
        if isinstance(rank, Integral):
            rank = validation.require_integer("rank", rank, least=1, none="a part of the trace")
        elif rank is not None:
            if not (isinstance(rank, Real) and 0.0 < rank < 1.0):
                raise ValueError(
                    "rank must be None, a whole number or a part of the trace between 0 and 1, "
                    f"got {self.rank!r}"
                )
            rank = float(rank)
        return Plan(
            pace=pace,
            aggregate=validation.require_choice(
                "aggregate", self.aggregate, ("ensemble", "last", "parzen")
            ),
            rank=rank,
            intercept=validation.require_flag("intercept", self.intercept),
            prune=validation.require_real("prune", self.prune, least=0.0, most=1.0),
            part=least,
            memory=parse_memory(self.max_memory),
            keep=validation.require_flag("keep_stages", self.keep_stages),
            folds=folds,
        )

    def _resolved_gamma(self, X: Any, weight: Floats) -> float:
        if isinstance(self.gamma, str) and self.gamma == "paper":
            square = validation.mean_square_distance(X, weight)
            return 1.0 / square if square > 0 else 1.0
        return validation.resolve_gamma(self.gamma, X, weight, more=("paper",))

    def _train(
        self,
        prepared: Prepared,
        code: Ints,
        formulation: Formulation,
        settings: Resources,
        observers: Observers,
    ) -> tuple[Floats, list[Trained], dict[str, Any]]:
        kernel, merged = prepared.kernel, prepared.merged
        if not kernel.positive and not isinstance(kernel, Precomputed | Callable):
            raise ValueError(
                f"kernel={self.kernel!r} need not be positive semidefinite, and then there is no "
                "margin to maximise: use 'rbf', 'linear', 'poly' with coef0 >= 0 or 'laplacian'"
            )
        plan, own = self._plan(), code[merged.kept]
        layout = PairLayout(int(np.max(code)) + 1)
        members = [np.flatnonzero(own == c) for c in range(layout.classes)]
        _warn_of_slow_steps(sum(sorted(len(rows) for rows in members)[-2:]), plan)
        found = train_ensembles(kernel, prepared.rows, merged, own, plan, settings, observers)
        more: dict[str, Any] = {
            "n_members_": np.array([one.size for one in found]),
            "pruning_bound_": np.array([one.missing for one in found]),
            "trace_left_": np.array([one.left for one in found]),
            "_stages": None,
        }
        if plan.keep:
            precomputed = isinstance(kernel, Precomputed)
            vectors = np.empty((0, 0)) if precomputed else prepared.rows.data[merged.kept]
            rows_of = [np.concatenate([members[i], members[j]]) for i, j in layout.pairs]
            stages = [one.stages for one in found]
            more["_stages"] = _Stages(vectors, merged.kept, rows_of, stages, plan.intercept)
        coefs = [one.trained.solution.beta[0] for one in found]
        kept = [merged.kept[rows] for rows in members]
        return layout.scatter(coefs, kept, len(code)), [one.trained for one in found], more

    def _breaks_ties(self) -> bool:
        return True

    # -- every step --------------------------------------------------------------------------------

    def staged_decision_function(self, X: Any) -> Iterator[Floats]:
        """Decision values of the model after every step, as if training had ended there.

        Needs `keep_stages=True`. The model itself is that of stage `n_members_`. Of several pairs
        of classes, those that took fewer steps stay at their last one.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Yields
        ------
        ndarray of shape (n_samples,) or (n_samples, n_classes) or (n_samples, n_pairs)
            As `decision_function`.
        """
        X = self._query(X)
        kept = self._stages
        if kept is None:
            raise ValueError("there are no stages to show: fit with keep_stages=True")
        gram = self._gram(X, kept.vectors, kept.column)
        layout, count = self._layout, max(len(coef) for coef in kept.coefs)
        step = max(1, _TOGETHER // max(1, X.shape[0] * len(kept.coefs)))
        for a in range(0, count, step):
            decision = np.empty((min(step, count - a), X.shape[0], len(kept.coefs)))
            for p, (rows, coefs) in enumerate(zip(kept.rows, kept.coefs, strict=True)):
                here = coefs[np.minimum(np.arange(a, a + len(decision)), len(coefs) - 1)]
                decision[:, :, p] = gram.scan(None, rows, here)
                if kept.raised:
                    decision[:, :, p] += here.sum(axis=1)[:, None]
            for values in decision:
                if layout.classes == 2:
                    yield values[:, 0]
                else:
                    by_class = self.decision_function_shape == "ovr"
                    yield layout.one_vs_rest(values) if by_class else values


def _warn_of_slow_steps(rows: int, plan: Plan) -> None:
    """Warn if each of a hundred steps or so computes many kernel values anew."""
    if rows >= _MANY and streams(rows, plan) and plan.aggregate != "parzen":
        warnings.warn(
            f"the kernel matrix of {rows:,} rows takes more than half of max_memory="
            f"{plan.memory:,}, so that every step computes it anew; a low rank (rank=500, say) "
            "approximates it once and is far faster, or raise max_memory",
            UserWarning,
            stacklevel=level_of_caller(),
        )


@dataclass(frozen=True, eq=False)
class _Stages:
    """Coefficients of every step.

    Attributes
    ----------
    vectors : ndarray or CSR
        The distinct rows.
    column : ndarray
        Where they stood among the training rows.
    rows : list of ndarray
        Which of them belong to each pair of classes.
    coefs : list of ndarray of shape (steps, rows)
    raised : bool
        Whether 1 was added to all kernel values.
    """

    vectors: Any
    column: Ints
    rows: list[Ints]
    coefs: list[Floats]
    raised: bool
