"""What SVC and NuSVC share: a dual for each pair of classes, solved to its optimum."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from widestreet._src.arrays import Floats, Ints
from widestreet._src.estimators import validation
from widestreet._src.estimators.base import Prepared
from widestreet._src.estimators.classifier import Classifier
from widestreet._src.problems.dual import Dual
from widestreet._src.reporting.observers import Observers
from widestreet._src.training.one_vs_one import OneVsOne, pairs, train_pairs
from widestreet._src.training.training import Problem, Settings, Trained, train


class DualClassifier(Classifier):
    """Base of the classifiers that are optima of duals. The subclasses say of which."""

    break_ties: bool

    def _settings(self) -> Settings:
        validation.require_flag("break_ties", self.break_ties)
        return super()._settings()

    @abstractmethod
    def _dual(self, sign: Floats, box: Floats) -> Dual:
        """The dual between two classes."""

    def _duals(self, sign: Floats, box: Floats, sizes: list[int]) -> list[Dual]:
        """The duals between several pairs of classes, whose rows stand one after the other."""
        ends = np.cumsum(sizes)[:-1]
        signs, boxes = np.split(sign, ends), np.split(box, ends)
        return [self._dual(*pair) for pair in zip(signs, boxes, strict=True)]

    def _breaks_ties(self) -> bool:
        if self.break_ties and self.decision_function_shape == "ovo":
            raise ValueError("break_ties must be False when decision_function_shape is 'ovo'")
        return self.break_ties

    def _train(
        self, prepared: Prepared, code: Ints, scale: float, settings: Settings, watch: Observers
    ) -> tuple[Floats, list[Trained], dict[str, Any]]:
        k, merged = int(np.max(code)) + 1, prepared.merged
        before = self._warm(k - 1, prepared.rows.shape[0], scale)
        start = None if before is None else merged.gather(before)
        solve = self._fit_two if k == 2 else self._fit_pairs
        lines, trained = solve(prepared, code[merged.kept], start, settings, watch)
        return merged.spread(lines, prepared.box), trained, {}

    def _fit_two(
        self,
        prepared: Prepared,
        code: Ints,
        start: Floats | None,
        settings: Settings,
        watch: Observers,
    ) -> tuple[Floats, list[Trained]]:
        """Train the problem between two classes, of which the second is the positive one.

        Parameters
        ----------
        prepared : Prepared
        code : ndarray
            The class of each row of the dual.
        start : ndarray or None
            Lines of `dual_coef_` to begin with.
        settings : Settings
        watch : Observers

        Returns
        -------
        lines : ndarray
            Lines of `dual_coef_`, before they are divided by the width of the street, with a
            column for each row of the dual.
        trained : list of Trained
        """
        dual = self._dual(np.where(code == 1, 1.0, -1.0), prepared.merged.box)
        problem = Problem(dual)
        if start is not None:
            problem = problem.starting_at(start * self._rho)
        with watch.problem() as observe:
            trained = train(
                prepared.kernel, prepared.rows, problem, settings, observe, prepared.kept
            )
        return trained.solution.beta, [trained]

    def _fit_pairs(
        self,
        prepared: Prepared,
        code: Ints,
        start: Floats | None,
        settings: Settings,
        watch: Observers,
    ) -> tuple[Floats, list[Trained]]:
        """Train the problems between all pairs of classes, of which the first is the positive one.

        Parameters and results are those of `_fit_two`.
        """
        kept, box = prepared.merged.kept, prepared.merged.box
        members = [np.flatnonzero(code == c) for c in range(int(np.max(code)) + 1)]
        both = [(members[i], members[j]) for i, j in pairs(len(members))]
        sizes = [len(first) + len(second) for first, second in both]
        rows = np.concatenate([part for pair in both for part in pair])
        sign = np.repeat([1.0, -1.0] * len(both), [len(part) for pair in both for part in pair])
        duals = self._duals(sign, box[rows], sizes)
        problems = [Problem(dual) for dual in duals]
        if start is not None:
            for p, (i, j) in enumerate(pairs(len(members))):
                line = np.concatenate([start[j - 1, members[i]], start[i, members[j]]])
                problems[p] = problems[p].starting_at(line[None] * self._rho[p])
        machines = OneVsOne([kept[rows] for rows in members], problems)
        trained = train_pairs(prepared.kernel, prepared.rows, machines, settings, watch)
        coefs = [one.solution.beta[0] for one in trained]
        lines = np.zeros((len(members) - 1, len(code)))
        for rows, part in zip(members, machines.by_class(coefs), strict=True):
            lines[:, rows] = part
        return lines, trained
