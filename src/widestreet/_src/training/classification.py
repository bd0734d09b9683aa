"""Train the problems of all pairs of classes: one problem, or one against one."""

from __future__ import annotations

import numpy as np

from widestreet._src.arrays import Codes, Floats
from widestreet._src.kernels.kernels import Kernel
from widestreet._src.problems.class_pairs import PairLayout
from widestreet._src.problems.formulations import DualFormulation
from widestreet._src.reporting.observers import Observers
from widestreet._src.rows import Merged, Rows
from widestreet._src.training.engine_sequence import train
from widestreet._src.training.one_vs_one import train_pairs
from widestreet._src.training.pair_problems import PairProblems
from widestreet._src.training.problem import Problem
from widestreet._src.training.settings import Settings
from widestreet._src.training.trained import Trained


def train_classes(
    kernel: Kernel,
    rows: Rows,
    merged: Merged,
    code: Codes,
    formulation: DualFormulation,
    settings: Settings,
    observers: Observers,
    start: Floats | None = None,
) -> tuple[Floats, list[Trained]]:
    """Train a classifier.

    Parameters
    ----------
    kernel : Kernel
    rows : Rows
        All rows.
    merged : Merged
        The rows that have a variable, and their boxes.
    code : ndarray
        Class index of each variable.
    formulation : DualFormulation
    settings : Settings
    observers : Observers
    start : ndarray, optional
        Lines of coefficients of a warm start.

    Returns
    -------
    lines : ndarray of shape (lines, variables)
        Coefficients in the layout of `PairLayout`, before they are divided by the margin.
    trained : list of Trained
        One for each pair of classes.
    """
    layout = PairLayout(int(np.max(code)) + 1)
    if layout.classes == 2:
        sign = code.astype(np.float64)
        sign *= -2.0 * layout.sign_of_first
        sign += layout.sign_of_first
        problem = Problem(formulation.dual(sign, merged.box))
        if start is not None:
            problem = problem.starting_at(start)
        with observers.problem() as observe:
            trained = train(kernel, rows, problem, settings, observe, merged.selection)
        return trained.solution.beta, [trained]
    members = [np.flatnonzero(code == c) for c in range(layout.classes)]
    both = [(members[i], members[j]) for i, j in layout.pairs]
    sizes = [len(first) + len(second) for first, second in both]
    variables = np.concatenate([part for pair in both for part in pair])
    signs = [layout.sign_of_first, -layout.sign_of_first] * len(both)
    sign = np.repeat(signs, [len(part) for pair in both for part in pair])
    duals = formulation.duals(sign, merged.box[variables], sizes)
    problems = [Problem(dual) for dual in duals]
    if start is not None:
        coefs = layout.gather(start, members)
        problems = [
            problem.starting_at(coef[None]) for problem, coef in zip(problems, coefs, strict=True)
        ]
    machines = PairProblems([merged.kept[part] for part in members], problems)
    found = train_pairs(kernel, rows, machines, settings, observers)
    lines = layout.scatter([one.solution.beta[0] for one in found], members, len(code))
    return lines, found
