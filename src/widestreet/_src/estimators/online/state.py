"""The rows of an online estimator and the optima of their problems."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from widestreet._src.arrays import Floats, Ints
from widestreet._src.certificate import Certificate
from widestreet._src.estimators.online.optimum import Optimum
from widestreet._src.estimators.online.problem import OnlineProblem
from widestreet._src.estimators.online.row_store import Kept, RowStore
from widestreet._src.training.settings import Settings

Key: TypeAlias = Any  # a pair of classes; None if there is only one problem
Solve: TypeAlias = Callable[[OnlineProblem, Ints], Optimum]


@dataclass
class OnlineState:
    """Learned state of an online estimator.

    Attributes
    ----------
    store : RowStore
    seen : dict
        `n_features_in_` and, if the columns have names, `feature_names_in_`.
    classes : ndarray or None
        Labels of the classes; targets in the store are indices into them.
    optima : dict
        Optimum of each problem; empty after a failed change, until they are solved again.
    known : dict
        Rows and variables of problems whose optima are not restored yet.
    proof : list of Certificate or None
        Certificate of each problem, if computed since the last change.
    counts : object
        Counts of INSVR, in total and of the last call.
    """

    store: RowStore
    seen: dict[str, Any]
    classes: Any = None
    optima: dict[Key, Optimum] = field(default_factory=dict)
    known: dict[Key, tuple[Ints, Floats]] = field(default_factory=dict)
    proof: list[Certificate] | None = None
    counts: Any = None

    def arrange(
        self, wanted: Mapping[Key, tuple[OnlineProblem, Ints]], new: Ints, solve: Solve
    ) -> None:
        """Bring every problem to its optimum.

        Parameters
        ----------
        wanted : mapping
            Problems that the rows form, each with the positions of its rows.
        new : ndarray
            Positions of the rows added since the last call.
        solve : callable
            Function that computes the optimum of a new problem.

        Sets: optima, proof.
        """
        self.optima = {key: self.optima[key] for key in wanted if key in self.optima}
        for key, (problem, members) in wanted.items():
            optimum = self.optima.get(key)
            if optimum is None:
                self.optima[key] = solve(problem, members)
                continue
            optimum.problem = problem
            mine = np.zeros(self.store.n, dtype=bool)
            mine[members] = True
            added = new[mine[new]]
            if len(added):
                optimum.add(added)
            else:
                optimum.update()
        self.proof = None

    def configure(self, settings: Settings) -> None:
        """Use new settings for all further work. Sets: store, optima."""
        self.store.use_threads(settings.threads)
        for optimum in self.optima.values():
            optimum.settings = settings

    def rename_classes(self, classes: Any) -> None:
        """Renumber targets and problems for a larger set of classes. Sets: classes, optima."""
        if self.classes is not None and len(self.classes) < len(classes):
            new = np.searchsorted(classes, self.classes)
            self.store.target[:] = new[self.store.target.astype(np.int64)]
            self.optima = {
                (int(new[i]), int(new[j])): optimum for (i, j), optimum in self.optima.items()
            }
        self.classes = classes

    def drop(self, gone: Ints) -> None:
        """Remove rows of weight zero, given by position. Sets: store, optima."""
        for optimum in self.optima.values():
            optimum.drop(gone)
        order = self.store.drop(gone)
        now = np.full(len(order) + len(gone), -1, dtype=np.int64)
        now[order] = np.arange(len(order))
        for optimum in self.optima.values():
            optimum.members = now[optimum.members]

    def tolerance(self, tol: float) -> float:
        """Return the violation that a proof allows: `tol` times the largest target, or 1."""
        if self.classes is not None:
            return tol
        return tol * max(1.0, float(np.abs(self.store.target).max(initial=0.0)))

    def kept(self) -> KeptState:
        """Return what `restore` needs to undo the changes that follow."""
        return KeptState(self.store.kept(), self.classes, self.counts)

    def restore(self, kept: KeptState) -> None:
        """Restore an earlier state; the problems are solved again when they are needed."""
        self.store.restore(kept.rows)
        self.classes, self.counts = kept.classes, kept.counts
        self.optima, self.known, self.proof = {}, {}, None


@dataclass
class KeptState:
    """Copy of a state before a change."""

    rows: Kept
    classes: Any
    counts: Any
