"""Plan of a search: which candidates share work, and what each of them scores in each fold.

A plan is made for an SVM of this package, or for a pipeline whose last step is one. All candidates
and folds of an SVM share their rows. In a pipeline the rows depend on the fold and on the
parameters of the transformers; candidates that agree in both share them.

What cannot be shared raises an error while the plan is made. Errors of a single fit (of its
parameters, its transformers or its kernel, if that is a Python function) are results of the fit.
All other errors of a run are raised.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable as Function
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Any

import numpy as np
from scipy import sparse
from sklearn import config_context, get_config
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing, get_tags

from widestreet._src.arrays import Floats, Ints
from widestreet._src.engines.budget import Budget, OutOfBudget
from widestreet._src.engines.selection.auto_doubling import Auto
from widestreet._src.estimators import parameter_checks
from widestreet._src.estimators.nu_svc import NuSVC
from widestreet._src.estimators.nu_svr import NuSVR
from widestreet._src.estimators.one_class import OneClassSVM
from widestreet._src.estimators.optimal import OptimalFit
from widestreet._src.estimators.svc import SVC
from widestreet._src.estimators.svr import SVR
from widestreet._src.kernels.kernels import Callable, Kernel
from widestreet._src.shards.runner import LocalRunner
from widestreet._src.status import Status
from widestreet._src.threads import limited_blas
from widestreet._src.training.settings import Settings
from widestreet._src.tuning.outcomes import Outcome
from widestreet._src.tuning.search import Search
from widestreet._src.tuning.tasks import Fold, SearchData, Task

KINDS = (SVC, NuSVC, SVR, NuSVR, OneClassSVM)
_SHARED = {
    "C", "gamma", "kernel", "degree", "coef0", "tol", "gap_tol", "epsilon", "nu", "class_weight",
    "shrinking", "break_ties", "decision_function_shape",
}  # fmt: skip
_OF_KERNEL = ("kernel", "gamma", "degree", "coef0")

Parameters = Mapping[str, Any]
Split = tuple[Ints, Ints]
_Place = tuple[int, int]  # candidate and fold
_Group = tuple[tuple[str, int], ...]  # names and identities of the parameters of transformers
_BATCHES = 4  # of the candidates of a search with a limit on the time, at most
_KEPT_SHARE = 0.25  # of max_memory, for transformed rows that other batches need, too


class CannotShare(Exception):  # noqa: N818 - it is a normal way to another implementation
    """Raised, with the reason, if scikit-learn's own search has to be used."""


@dataclass(frozen=True, eq=False)
class Machine:
    """An SVM of this package and the transformers before it.

    Attributes
    ----------
    estimator : OptimalFit
    transformers : Pipeline or None
    prefix : str
        Prefix of the names of its parameters.
    """

    estimator: OptimalFit
    transformers: Pipeline | None = None
    prefix: str = ""

    @classmethod
    def of(cls, estimator: Any) -> Machine:
        """Return the SVM of an estimator or a pipeline; raise CannotShare if there is none."""
        machine, transformers, prefix = estimator, None, ""
        if type(estimator) is Pipeline and estimator.memory is None:
            name, machine = estimator.steps[-1]
            prefix = name + "__"
            transformers = estimator[:-1] if len(estimator.steps) > 1 else None
            if transformers is not None and _takes_kernel_values(estimator, machine):
                raise CannotShare("transformers precede a precomputed kernel")
        if type(machine) not in KINDS:
            raise CannotShare("the estimator is no SVM whose fits share work")
        if getattr(machine, "_skl_callbacks", None):
            raise CannotShare("the estimator has callbacks")
        return cls(machine, transformers, prefix)

    def candidate(self, parameters: Parameters) -> OptimalFit:
        """Return the SVM with the parameters of a candidate."""
        names = [name for name in parameters if name.startswith(self.prefix)]
        mine = {name.removeprefix(self.prefix): parameters[name] for name in names}
        if others := sorted(set(mine) - _SHARED):
            raise CannotShare(f"candidates differ in {', '.join(others)}")
        found: OptimalFit = clone(self.estimator).set_params(**clone(mine, safe=False))
        if found.max_iter != -1 or found.max_time is not None:
            raise CannotShare("the estimator has a limit max_iter or max_time")
        if (found.kernel == "precomputed") != (self.estimator.kernel == "precomputed"):
            raise CannotShare("some kernels are precomputed and others are not")
        if not isinstance(parameter_checks.resolve_strategy(found.strategy), Auto):
            raise CannotShare(f"the estimator has strategy={found.strategy!r}")
        if getattr(found, "loss", "hinge") not in ("hinge", "epsilon_insensitive"):
            raise CannotShare(f"the estimator has loss={found.loss!r}")
        return found

    def of_transformers(self, parameters: Parameters) -> Parameters:
        """Return the parameters of a candidate that belong to transformers."""
        mine = {
            name: value
            for name, value in parameters.items()
            if not (self.prefix and name.startswith(self.prefix)) and self.prefix
        }
        if self.prefix.removesuffix("__") in mine or (mine and self.transformers is None):
            raise CannotShare("candidates differ in steps of the pipeline")
        return mine


@dataclass(eq=False)
class Plan:
    """Candidates and folds of a search, and their results.

    Attributes
    ----------
    machine : Machine
    X, y, sample_weight : object
        Training data as the user passed them.
    candidates : sequence of mapping
        Parameters of each candidate.
    splits : list of tuple
        Row numbers of the training and the test set of each fold.
    every_row : bool
        Whether training rows are scored as well.
    budget : Budget
    settings : Settings
        Limits on memory and threads.
    data : SearchData or None
        Validated rows; None for a pipeline, whose rows are transformed in each fold.
    tell : callable
        Called with the finished part of the work whenever a problem was solved, from any thread.
    found : dict
        Model with stored scores, or the error, of each candidate in each fold.
    seconds, violation : ndarray of shape (candidates, folds)
    """

    machine: Machine
    X: Any
    y: Any
    sample_weight: Any
    candidates: Sequence[Parameters]
    splits: list[Split]
    every_row: bool
    budget: Budget
    settings: Settings
    data: SearchData | None = None
    tell: Function[[float], None] = lambda part: None
    found: dict[tuple[int, int], Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        shape = len(self.candidates), len(self.splits)
        self.seconds, self.violation = np.zeros(shape), np.full(shape, np.nan)
        self._transformed: dict[tuple[_Group, int], Fold] = {}
        self._solved, self._lock = 0.0, Lock()  # tasks that are solved, and perhaps not scored
        self.estimators = [self.machine.candidate(one) for one in self.candidates]
        if self.data is None and self.machine.transformers is None:
            self.data = SearchData.of(self.machine.estimator, self.X, self.y, self.sample_weight)

    @property
    def complete(self) -> list[bool]:
        """True for each candidate that was evaluated in all folds."""
        folds = range(len(self.splits))
        return [all((k, f) in self.found for f in folds) for k in range(len(self.candidates))]

    def run(self) -> None:
        """Solve everything; raise OutOfBudget or KeyboardInterrupt if it is stopped.

        Sets: found, seconds, violation.
        """
        if self.data is not None:
            folds = {f: Fold(self.data, *split) for f, split in enumerate(self.splits)}
            for batch in self._batches():
                self._solve(self.data, folds, batch, None, self.settings)
        elif self.machine.transformers is not None:
            for batch in self._batches():
                self._run_pipelines(self.machine.transformers, batch)
        self.budget.look_at_clock()

    def _batches(self) -> list[list[int]]:
        """Return the candidates in batches, each of which is solved in all folds before the next.

        There is one batch if there is no limit on the time. Candidates that share transformers or
        a kernel follow each other.
        """

        def shared(k: int) -> tuple[str, list[str]]:
            parameters, prefix = self.candidates[k], self.machine.prefix
            kernel = [repr(parameters.get(prefix + name)) for name in _OF_KERNEL]
            return repr(self.machine.of_transformers(parameters)), kernel

        order = sorted(range(len(self.candidates)), key=shared)
        size = len(order) if self.budget.max_time is None else -(-len(order) // _BATCHES)
        return [order[begin : begin + size] for begin in range(0, len(order), size)]

    def _run_pipelines(self, transformers: Pipeline, batch: list[int]) -> None:
        """Transform the rows of each fold, then solve the candidates that share them."""
        groups: dict[_Group, list[int]] = defaultdict(list)
        for k in batch:
            groups[self._group(k)].append(k)
        kept = {at: fold for at, fold in self._transformed.items() if at[0] in groups}
        self._transformed = kept
        parts = [(members, f) for members in groups.values() for f in range(len(self.splits))]
        workers = min(self.settings.threads, len(parts))
        share = 1.0 if self.budget.max_time is None else 1.0 - _KEPT_SHARE
        settings = replace(
            self.settings,
            threads=max(1, self.settings.threads // workers),
            max_memory=int(share * self.settings.max_memory) // workers,
        )

        config = get_config()  # of this thread
        ended: list[Status] = []

        def solve(part: tuple[list[int], int]) -> None:
            try:
                with config_context(**config):
                    self._solve_transformed(transformers, *part, settings)
            except OutOfBudget as stop:
                ended.append(stop.status)
            except KeyboardInterrupt:
                self.budget.stopped = True

        with limited_blas(1):  # some BLAS libraries ignore limits set in the threads of the runner
            LocalRunner(workers).map(solve, parts, on_interrupt=self._stop)
        self.budget.look_for_stop()
        if ended:
            raise OutOfBudget(ended[0])

    def _group(self, k: int) -> _Group:
        """Return what candidates with the same parameters of the transformers have in common."""
        mine = self.machine.of_transformers(self.candidates[k])
        return tuple((name, id(mine[name])) for name in sorted(mine))

    def _stop(self) -> None:
        self.budget.stopped = True

    def _solve_transformed(
        self, transformers: Pipeline, members: list[int], f: int, settings: Settings
    ) -> None:
        """Solve candidates whose transformers have the same parameters, in one fold."""
        self.budget.look_at_clock()
        at = self._group(members[0]), f
        fold = self._transformed.get(at)
        try:
            if fold is None:
                fold = self._transform(transformers, members[0], f)
        except Exception as error:
            self.found |= {(k, f): error for k in members}
            return
        size = _bytes(fold.data.X)
        room = _KEPT_SHARE * self.settings.max_memory - self._bytes_kept
        if self.budget.max_time is not None and size <= room:  # other batches need it, too
            self._transformed[at] = fold
        else:
            settings = replace(settings, max_memory=max(1, settings.max_memory - size))
        self._solve(fold.data, {f: fold}, members, np.concatenate(self.splits[f]), settings)

    @property
    def _bytes_kept(self) -> int:
        return sum(_bytes(fold.data.X) for fold in list(self._transformed.values()))

    def _transform(self, transformers: Pipeline, k: int, f: int) -> Fold:
        """Return the rows of a fold, transformed with the parameters of a candidate."""
        train, test = self.splits[f]
        mine = clone(dict(self.machine.of_transformers(self.candidates[k])), safe=False)
        chain = clone(transformers).set_params(**mine)
        y = None if self.y is None else _safe_indexing(self.y, train)
        inner = chain.fit_transform(_safe_indexing(self.X, train), y)
        outer = chain.transform(_safe_indexing(self.X, test))
        weight, number = self.sample_weight, np.concatenate([train, test])
        data = SearchData.of(
            self.machine.estimator,
            _stacked(inner, outer),
            None if self.y is None else _safe_indexing(self.y, number),
            None if weight is None else _safe_indexing(weight, number),
        )
        rows = np.arange(len(number))
        return Fold(data, rows[: len(train)], rows[len(train) :])

    def _solve(
        self,
        data: SearchData,
        folds: Mapping[int, Fold],
        members: Sequence[int],
        number: Ints | None,
        settings: Settings,
    ) -> None:
        """Solve candidates over the same rows. Sets: found, seconds, violation.

        Parameters
        ----------
        data : SearchData
        folds : mapping
        members : sequence of int
            Candidates.
        number : ndarray or None
            Row numbers of the user of these rows; None if they are the same.
        settings : Settings
        """
        tasks: dict[_Place, Task] = {}
        for k in members:
            for f, fold in folds.items():
                try:
                    tasks[k, f] = Task.of(self.estimators[k], fold)
                except (ValueError, TypeError) as error:
                    self.found[k, f] = error
        native: list[_Place] = []
        functions: dict[Kernel, list[_Place]] = defaultdict(list)
        for at, task in tasks.items():
            mine = isinstance(task.kernel, Callable)
            (functions[task.kernel] if mine else native).append(at)
        if native:
            self._search(data, {at: tasks[at] for at in native}, number, settings)
        for places in functions.values():
            try:
                self._search(data, {at: tasks[at] for at in places}, number, settings)
            except (OutOfBudget, KeyboardInterrupt):
                raise
            except Exception as error:  # of the function
                self.found |= {at: error for at in places if at not in self.found}

    def _search(
        self,
        data: SearchData,
        tasks: Mapping[_Place, Task],
        number: Ints | None,
        settings: Settings,
    ) -> None:
        """Solve tasks over the same rows. Sets: found, seconds, violation."""
        place = list(tasks)

        def report(task: int, outcome: Outcome, rows: Ints, scores: Floats) -> None:
            at = place[task]
            self.seconds[at], self.violation[at] = outcome.seconds, outcome.violation
            if number is not None:
                rows, first = np.unique(number[rows], return_index=True)
                scores = scores[:, first]
            self.found[at] = outcome.held_out(rows, scores)
            self._tell(0.0)

        Search(
            data, list(tasks.values()), settings, self.budget, report, self.every_row, self._tell
        ).run()

    def _tell(self, solved: float) -> None:
        """Tell the finished part of the work after so much of a task."""
        with self._lock:
            self._solved += solved
            done = max(self._solved, len(self.found))  # tasks that failed are found at once
            self.tell(min(1.0, done / self.seconds.size))


def _takes_kernel_values(pipeline: Pipeline, last: Any) -> bool:
    """Return whether the first or the last step takes kernel values instead of rows."""
    pairwise = bool(get_tags(pipeline).input_tags.pairwise)
    return pairwise or getattr(last, "kernel", None) == "precomputed"


def _bytes(X: Any) -> int:
    """Return the memory of an array or a CSR matrix."""
    if sparse.issparse(X):
        return int(X.data.nbytes + X.indices.nbytes + X.indptr.nbytes)
    return int(X.nbytes)


def _stacked(first: Any, second: Any) -> Any:
    """Return the rows of two arrays or frames below each other."""
    if sparse.issparse(first):
        return sparse.vstack([first, second]).tocsr()
    return np.concatenate([np.asarray(first), np.asarray(second)])
