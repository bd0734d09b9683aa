"""Ensembles of partially trained hard-margin SVMs: a classifier without C."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np

from widestreet._src.arrays import Codes, Floats, Ints
from widestreet._src.engines.budget import Budget
from widestreet._src.estimators import figures, parameter_checks
from widestreet._src.estimators.batch import Prepared
from widestreet._src.estimators.batch_classifier import BatchClassifier, ClassTraining
from widestreet._src.estimators.callbacks import with_callbacks
from widestreet._src.estimators.ensemble_parameters import chooses_width, plan_of
from widestreet._src.estimators.ensemble_width import best_kernel, warn_of_slow_steps
from widestreet._src.estimators.placing import check_device
from widestreet._src.estimators.stages import Stages
from widestreet._src.kernels.kernels import Callable, Precomputed
from widestreet._src.problems.class_pairs import PairLayout
from widestreet._src.problems.formulations import HardMargin
from widestreet._src.reporting.observers import Observers
from widestreet._src.rows import DeviceRows
from widestreet._src.training.ensemble import train_ensembles
from widestreet._src.training.ensemble_plan import Plan
from widestreet._src.training.settings import Resources
from widestreet._src.training.trained import Trained

_BLOCK_VALUES = 1 << 24  # decision values of stages computed at a time


class EnsembleSVC(BatchClassifier):
    """Ensemble of partially trained hard-margin SVMs, without C.

    Multiplicative updates lead from a Parzen window classifier, in which all rows have equal
    weights, towards the hard-margin SVM whose boundary passes through the origin (Tsang and Kwok,
    2007). The model is the mean of all classifiers on the way, each weighted by the length of the
    step that left it. It is nearly as accurate as the best soft-margin SVM, even on noisy data, and
    only the kernel has to be tuned. It is one expansion in kernel values, like any SVM.

    Parameters
    ----------
    kernel : {"rbf", "linear", "poly", "laplacian", "precomputed"} or callable, default="rbf"
        Kernel function, which must be positive semidefinite.
    degree : int, default=3
        Degree of the polynomial kernel.
    gamma : {"paper", "scale", "auto", "cv"} or float, default="paper"
        "paper" is 1 / (mean squared distance of the rows to their mean); "scale" and "auto" are
        those of `SVC`. "cv" chooses the width with the smallest error on held-out rows, by the
        `folds` that also determine the number of members, for kernel="rbf" or "laplacian"; this
        takes about ten times as long.
    coef0 : float, default=0.0
        Constant in the polynomial kernel; not negative.
    aggregate : {"ensemble", "last", "parzen"}, default="ensemble"
        Model to return: the mean of the members; the last classifier, which is the hard-margin SVM
        as far as it was trained; or the first, the Parzen window classifier.
    epsilon : float, default=0.005
        Smallest relative reduction of the margin that a step aims at. Training ends when even such
        a step overshoots.
    epsilon_start : float, default=0.1
        Relative reduction of the margin that the first steps aim at.
    learning_rate : {"adaptive", "literal"} or float, default="adaptive"
        Length of the steps. "adaptive" and "literal" find the length of each step by a line search
        and halve the reduction that it aims at if a step overshoots. With "literal", as in the
        paper, the reduction never grows again; with "adaptive" it does. A number is the length of
        all steps; then training ends with the first step that does not reduce the margin.
    folds : int, default=5
        Number of cross-validation folds that determine the number of members. Training takes two to
        four times as long as without folds. None keeps all members; `learning_rate="literal",
        folds=None` reproduces Algorithm 1 of the paper exactly.
    rank : int or float, default=None
        Rank of an approximation of the kernel matrix; None uses the exact kernel. With an integer a
        step costs rows * rank operations instead of rows * rows. A number below 1 is the fraction
        of the trace of the kernel matrix that the approximation may miss. The certificate always
        uses the exact kernel.
    intercept : bool, default=False
        If True, 1 is added to all kernel values, so that the decision boundary need not pass
        through the origin. With "linear" and "poly" this has little effect on rows far from the
        origin: centre them.
    prune : float, default=1e-3
        Bound on the change of decision values by pruning, relative to the largest possible value.
        Within this bound, the rows with the smallest coefficients are removed from the model.
    class_weight : dict or "balanced", default=None
        Factors of the sample weights for the classes.
    keep_stages : bool, default=False
        If True, the coefficients of every step (rows * steps numbers) are kept for
        `staged_decision_function`.
    verbose : int or bool, default=False
        1 shows a progress line, 2 prints a line per step as well.
    max_iter : int, default=10000
        Limit on steps for each pair of classes; -1 means no limit.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        For more than two classes: return a decision value for each class ("ovr") or for each pair
        of classes ("ovo").
    random_state : int, RandomState or None, default=None
        Seed of the selection of rows for the approximation of the kernel matrix.
    max_time : float, default=None
        Time limit in seconds, after which training stops with the model so far.
    max_memory : int, float or str, default=None
        Bytes, or a string such as "2GB", for everything beside the data; a quarter of the
        memory of the machine or container by default. A kernel matrix that fits into half of this
        is kept in memory.
    n_jobs : int, default=None
        Number of threads; None uses all processors available to the process.
    device : {"cpu", "cuda", "auto"}, default="cpu"
        Device that multiplies with the kernel matrix, which it does not store: "cuda" is an NVIDIA
        GPU, which needs the extra `gpu`; "auto" is the GPU if there is one and the fit is large,
        otherwise the CPU. An approximation of `rank` is computed by the CPU.
    on_interrupt : {"raise", "keep"}, default="raise"
        Action after Ctrl-C: "raise" raises KeyboardInterrupt, "keep" does not. The estimator holds
        the best model so far in both cases.

    Attributes
    ----------
    classes_ : ndarray
        Labels of the classes that have a row of positive weight.
    support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_, class_weight_
        Same as for `SVC`. The absolute values of the coefficients of each pair of classes sum to
        one before pruning.
    pruning_bound_ : ndarray of shape (n_pairs,)
        Bound on the change of decision values by pruning, relative to the largest possible value,
        |w| sqrt(K(x, x)).
    trace_left_ : ndarray of shape (n_pairs,)
        Fraction of the trace of the kernel matrix that its approximation misses.
    certificate_ : Certificate
        Distance of the model from the hard-margin SVM, with the exact kernel. The status is
        "optimal" if this is within `epsilon`, else "approximate". For more than two classes, the
        worst of `certificates_`.
    certificates_ : list of Certificate
        Certificate of each pair of classes.
    trace_ : Trace
        One record per step and one for the starting point. Its notes are "rho", which decreases
        towards the value of the hard-margin SVM, "lower_bound" on that value, "eta" and "epsilon"
        of the step, and "products", the number of products with the kernel matrix so far. Rows with
        more than 1e-6 of the largest weight count as support vectors. All of them are free, because
        weights have no upper bound. `pair_steps` is 0.
    n_iter_ : ndarray of shape (n_pairs,)
        Number of steps for each pair of classes, at least one.
    n_members_ : ndarray of shape (n_pairs,)
        Number of members of the ensemble of each pair of classes.
    gamma_ : float
        Width of the kernel; 0 if it has none.
    gammas_, gamma_errors_ : ndarray of shape (n_widths,)
        Widths that gamma="cv" compared, ascending, and for each the weight of the held-out rows
        that were misclassified, over all pairs of classes, in units of all weights of the pairs.
    n_kernel_values_ : int
        Number of kernel values computed, including those of the certificate.
    fit_status_, shape_fit_
        Same as for `SVC`.

    Notes
    -----
    Sample weights are the prior of the Parzen window, from which the updates start. A weight of two
    has the effect of a repeated row. Unlike in `SVC`, weights lose their influence during training,
    because the hard-margin SVM does not depend on them.

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
    device: str

    n_members_: Ints
    gamma_: float
    gammas_: Floats
    gamma_errors_: Floats
    pruning_bound_: Floats
    trace_left_: Floats
    _stages: Stages | None

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
        device: str = "cpu",
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
        self.device = device
        self.on_interrupt = on_interrupt

    # -- training --------------------------------------------------------------------------------

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on rows X with labels y.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training rows, or the square kernel matrix for kernel="precomputed".
        y : array-like of shape (n_samples,)
            Labels of two or more classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Prior weights of the rows. A weight of two has the effect of a repeated row, a weight of
            zero that of a missing row.

        Returns
        -------
        EnsembleSVC
            The fitted estimator itself.
        """
        return self._fit(X, y, sample_weight)

    def _training(self, start: Any) -> ClassTraining:
        check_device(self.device, self.kernel)
        plan, resources = self._plan(), self._resources(self.max_memory)
        return ClassTraining(HardMargin(), resources, partial(self._train, plan, resources))

    def _plan(self) -> Plan:
        return plan_of(self)

    def _resolved_gamma(self, X: Any, weight: Floats) -> float:
        if isinstance(self.gamma, str) and self.gamma in ("paper", "cv"):  # "cv" chooses later
            square = figures.mean_square_distance(X, weight)
            return 1.0 / square if square > 0 else 1.0
        variance = partial(figures.weighted_variance, X, weight)
        return parameter_checks.resolve_gamma(
            self.gamma, X.shape[1], variance, more=("paper", "cv")
        )

    def _train(
        self,
        plan: Plan,
        resources: Resources,
        prepared: Prepared,
        code: Codes,
        observers: Observers,
    ) -> tuple[Floats, list[Trained], dict[str, Any]]:
        """Train the ensembles of all pairs of classes, as `ClassTraining` requires."""
        kernel, merged = prepared.kernel, prepared.merged
        plan = replace(plan, streamed=isinstance(prepared.rows, DeviceRows))
        if not kernel.positive and not isinstance(kernel, Precomputed | Callable):
            raise ValueError(
                f"kernel={self.kernel!r} is not positive semidefinite in general, so there is no "
                "margin to maximise: use 'rbf', 'linear', 'poly' with coef0 >= 0 or 'laplacian'"
            )
        own = code[merged.kept]
        layout = PairLayout(int(np.max(code)) + 1)
        members = [np.flatnonzero(own == c) for c in range(layout.classes)]
        warn_of_slow_steps(sum(sorted(len(rows) for rows in members)[-2:]), plan)
        errors: dict[float, float] = {}
        if chooses_width(self):
            begun = Budget(resources.max_time)
            kernel, errors = best_kernel(prepared, own, plan, resources)
            resources = replace(resources, max_time=begun.part().max_time)
        found = train_ensembles(kernel, prepared.rows, merged, own, plan, resources, observers)
        more: dict[str, Any] = {
            "n_iter_": np.array([max(1, one.steps) for one in found]),
            "n_members_": np.array([one.size for one in found]),
            "pruning_bound_": np.array([one.missing for one in found]),
            "trace_left_": np.array([one.left for one in found]),
            "gamma_": float(getattr(kernel, "gamma", 0.0)),
            "gammas_": np.array(list(errors)),
            "gamma_errors_": np.array(list(errors.values())),
            "_kernel": kernel,
            "_gamma": getattr(kernel, "gamma", 0.0),
            "_stages": None,
        }
        if plan.keep:
            precomputed = isinstance(kernel, Precomputed)
            vectors = np.empty((0, 0)) if precomputed else prepared.rows.data[merged.kept]
            rows_of = [np.concatenate([members[i], members[j]]) for i, j in layout.pairs]
            stages = [one.stages for one in found]
            more["_stages"] = Stages(vectors, merged.kept, rows_of, stages, plan.intercept)
        coefs = [one.trained.solution.beta[0] for one in found]
        kept = [merged.kept[rows] for rows in members]
        return layout.scatter(coefs, kept, len(code)), [one.trained for one in found], more

    def _breaks_ties(self) -> bool:
        return True

    # -- the model of every step -------------------------------------------------------------------

    def staged_decision_function(self, X: Any) -> Iterator[Floats]:
        """Yield the decision values of the model after every step, as if training had ended there.

        Needs `keep_stages=True`. The fitted model is that of stage `n_members_`. With more than two
        classes, a pair that took fewer steps than others stays at its last step.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Yields
        ------
        ndarray of shape (n_samples,) or (n_samples, n_classes) or (n_samples, n_pairs)
            Values in the form of `decision_function`.
        """
        X, by_class = self._query(X), self._values_per_class()
        kept = self._stages
        if kept is None:
            raise ValueError("the stages were not kept: fit with keep_stages=True")
        gram = self._gram(X, kept.vectors, kept.column)
        layout, count = self._layout, max(len(coef) for coef in kept.coefs)
        step = max(1, _BLOCK_VALUES // max(1, X.shape[0] * len(kept.coefs)))
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
                    yield layout.one_vs_rest(values) if by_class else values
