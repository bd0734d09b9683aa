"""The problems of an online estimator: one, or one for each pair of classes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np

from widestreet._src.arrays import Floats, Ints
from widestreet._src.estimators import columns, data_checks
from widestreet._src.estimators.fitted import classifier_attributes, single_attributes
from widestreet._src.estimators.online.optimum import ProblemSolution
from widestreet._src.estimators.online.problem import OnlineProblem
from widestreet._src.estimators.online.state import Key, OnlineState
from widestreet._src.problems.class_pairs import PairLayout
from widestreet._src.problems.formulations import DualFormulation, Reading


class Task(Protocol):
    """The problems of an online estimator and the model of their optima."""

    def targets(
        self, y: Any, rows: int, classes: Any, state: OnlineState | None
    ) -> tuple[Floats, Any]:
        """Return targets as numbers, and the classes that these numbers index, if any."""
        ...

    def check_complete(self, state: OnlineState) -> None:
        """Refuse rows that suffice for `partial_fit` but not for `fit`."""
        ...

    def problems(
        self, state: OnlineState, formulation: DualFormulation
    ) -> Mapping[Key, tuple[OnlineProblem, Ints]]:
        """Return the problems of the rows, each with the positions of its rows."""
        ...

    def attributes(
        self,
        state: OnlineState,
        solutions: Mapping[Key, ProblemSolution],
        formulation: DualFormulation,
        tol: float,
    ) -> dict[str, Any]:
        """Return the fitted attributes of the model from the solutions of its problems."""
        ...

    def left_out(
        self,
        state: OnlineState,
        formulation: DualFormulation,
        tol: float,
        values: Floats,
        look: Callable[[], None],
    ) -> Floats:
        """Return the decision value of each row by the model without it, of shape (n, pairs).

        `values` are the decision values of the model with all rows; they are overwritten. `look`
        is called before each removal.
        """
        ...


def _shared(state: OnlineState, formulation: DualFormulation) -> dict[str, Any]:
    """Return the arguments of `fitted_attributes` that all online estimators share."""
    store = state.store
    return {
        "kernel": store.kernel,
        "X": store.X,
        "centre": store.centre,
        "index": np.argsort(np.argsort(store.ids, kind="stable"), kind="stable"),
        "scale": formulation.scale,
        "records": (),
        "kernel_values": store.kernel_values,
        "steps": sum(optimum.steps for optimum in state.optima.values()),
        "certificates": None,
    }


class SingleTask:
    """One problem over all rows: regressors and one-class SVMs.

    Parameters
    ----------
    has_targets : bool
    """

    def __init__(self, *, has_targets: bool) -> None:
        self._has_targets = has_targets

    def targets(
        self, y: Any, rows: int, classes: Any, state: OnlineState | None
    ) -> tuple[Floats, Any]:
        """Return targets as numbers; zeros if there are no targets."""
        return (columns.numbers("y", y) if self._has_targets else np.zeros(rows)), None

    def check_complete(self, state: OnlineState) -> None:
        """Accept any rows."""

    def problems(
        self, state: OnlineState, formulation: DualFormulation
    ) -> Mapping[Key, tuple[OnlineProblem, Ints]]:
        """Return the problem, or none if all weights are zero."""
        store = state.store
        return (
            {None: (OnlineProblem(formulation), np.arange(store.n))} if store.weight.any() else {}
        )

    def attributes(
        self,
        state: OnlineState,
        solutions: Mapping[Key, ProblemSolution],
        formulation: DualFormulation,
        tol: float,
    ) -> dict[str, Any]:
        """Return the fitted attributes; without rows the model is zero."""
        coef, bias = np.zeros((1, state.store.n)), np.zeros(formulation.groups)
        for solution in solutions.values():
            coef[0, solution.members], bias = solution.coef, solution.bias
        return single_attributes(
            coef=coef, reading=formulation.read(bias, tol), **_shared(state, formulation)
        )

    def left_out(
        self,
        state: OnlineState,
        formulation: DualFormulation,
        tol: float,
        values: Floats,
        look: Callable[[], None],
    ) -> Floats:
        """Return the values; nothing is known of a row that is the only one."""
        for optimum in state.optima.values():
            for row, found in optimum.each_without(look):
                values[row, 0] = np.nan
                if found is not None:
                    values[row, 0] = found.score + formulation.read(found.bias, tol).intercept
        return values


class ClassTask:
    """One problem for each pair of classes that have rows; the first class of it is negative.

    Parameters
    ----------
    class_weight : mapping or None
    """

    def __init__(self, class_weight: Mapping[Any, float] | None) -> None:
        self._class_weight = class_weight or {}

    def targets(
        self, y: Any, rows: int, classes: Any, state: OnlineState | None
    ) -> tuple[Floats, Any]:
        """Return the number of each label among all classes known so far."""
        data_checks.check_labels(y)
        labels = [np.unique(y)] if classes is None else [np.unique(y), np.unique(classes)]
        if state is not None and state.classes is not None:
            labels.append(state.classes)
        if len({label.dtype.kind in "OUS" for label in labels}) > 1:
            new, old = labels[0].tolist()[0], labels[-1].tolist()[0]
            raise ValueError(
                f"y: labels such as {new!r} cannot be mixed with earlier labels such as {old!r}; "
                "use one kind"
            )
        every = np.unique(np.concatenate(labels))
        code: Floats = np.searchsorted(every, y).astype(np.float64)
        return code, every

    def _factor(self, state: OnlineState) -> Floats:
        """Return the weight of each class."""
        return np.array([float(self._class_weight.get(one, 1.0)) for one in state.classes.tolist()])

    def check_complete(self, state: OnlineState) -> None:
        """Refuse rows of one class."""
        if not state.optima:
            raise ValueError(
                "y: Invalid input - all samples with positive weights belong to the same class: "
                "got 1 class, but fit needs rows of at least two; partial_fit can begin with one"
            )

    def problems(
        self, state: OnlineState, formulation: DualFormulation
    ) -> Mapping[Key, tuple[OnlineProblem, Ints]]:
        """Return a problem for each pair of classes that have a row of positive weight."""
        code, factor = state.store.target.astype(np.int64), self._factor(state)
        total = np.bincount(code, state.store.weight, len(state.classes))
        present = np.flatnonzero(total > 0).tolist()
        return {
            (i, j): (
                OnlineProblem(formulation, i, (float(factor[i]), float(factor[j]))),
                np.flatnonzero((code == i) | (code == j)),
            )
            for a, i in enumerate(present)
            for j in present[a + 1 :]
        }

    def attributes(
        self,
        state: OnlineState,
        solutions: Mapping[Key, ProblemSolution],
        formulation: DualFormulation,
        tol: float,
    ) -> dict[str, Any]:
        """Return the fitted attributes; in a pair with rows of one class, that class wins."""
        store, layout = state.store, PairLayout(len(state.classes))
        code = store.target.astype(np.int64)
        total = np.bincount(code, store.weight, layout.classes)
        flip = -layout.sign_of_first  # the first class of a problem is negative
        lines, readings = np.zeros((layout.lines, store.n)), list[Reading]()
        for i, j in layout.pairs:
            solution = solutions.get((i, j))
            if solution is None:
                readings.append(Reading(flip * (float(total[j] > 0) - float(total[i] > 0))))
                continue
            found = formulation.read(solution.bias, tol)
            readings.append(Reading(flip * found.intercept, found.margin))
            rows = solution.members
            line = np.where(code[rows] == i, layout.line(i, j), layout.line(j, i))
            lines[line, rows] = flip * solution.coef
        return classifier_attributes(
            code=code,
            lines=lines,
            readings=readings,
            classes=state.classes,
            class_weight=self._factor(state),
            **_shared(state, formulation),
        )

    def left_out(
        self,
        state: OnlineState,
        formulation: DualFormulation,
        tol: float,
        values: Floats,
        look: Callable[[], None],
    ) -> Floats:
        """Return decision values of all pairs; a class without its only row loses."""
        layout = PairLayout(len(state.classes))
        code, flip = state.store.target.astype(np.int64), -layout.sign_of_first
        for (i, j), optimum in state.optima.items():
            for row, found in optimum.each_without(look):
                if found is None:  # the other class is all that is left
                    value = 1.0 if code[row] == i else -1.0
                else:
                    reading = formulation.read(found.bias, tol)
                    value = (found.score + reading.intercept) / reading.divisor
                values[row, layout.number[i, j]] = flip * value
        return values
