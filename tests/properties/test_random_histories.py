"""Online machines after every call of random histories: the optimum, and nothing else."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from support.histories import KERNELS, MODELS, History

STEPS = 25


@pytest.mark.parametrize("seed", range(12))  # all kernels with and without a window
@pytest.mark.parametrize("model", MODELS)
def test_after_every_call_the_machine_is_what_a_refit_would_be(model, seed):
    """Sixty histories: rows come and go, one or some at a time, and parameters change.

    Rows are repeated and contradict each other, kernels have a low rank, classes come late and
    vanish, weights become zero, and every fourth machine has a window.
    """
    history = History(model, list(KERNELS)[seed % 3], seed)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "the margin is zero", UserWarning)
        for step in range(STEPS):
            history.step()
            history.check(reference=step == STEPS - 1)


def test_a_long_way_without_anybody_free():
    """C grows by four orders of magnitude, all at their bounds: one row came and went for ever."""
    history = History("eps_svr", "linear", 135)
    for _ in range(35):
        history.step()
        history.check()


def test_the_histories_are_as_nasty_as_they_should_be():
    """What the test above is about does occur in it."""
    seen: set[str] = set()
    for seed in range(8):
        for model in MODELS:
            history = History(model, list(KERNELS)[seed % 3], seed)
            machine, classes = history.machine, 0
            for _ in range(STEPS):
                before = len(history.rows)
                history.step()
                X, y, weight = history.X, history.y, history.weight
                same = (X[:, None] == X).all(axis=2) if len(X) else np.zeros((0, 0), dtype=bool)
                here = len(np.unique(y))
                facts = {
                    "several came at once": len(history.rows) > before + 1,
                    "several went at once": len(history.rows) < before - 1,
                    "nobody is left": before > 0 and len(history.rows) == 0,
                    "a row without weight": (weight == 0).any(),
                    "repeated": np.triu(same & (y[:, None] == y), 1).any(),
                    "contradictory": (same & (y[:, None] != y)).any(),
                    "low rank": history.kernel == "linear" and len(X) > X.shape[1] + 1,
                    "a class is missing": history.classifies and here < classes,
                    "three classes": history.classifies and here == 3,
                    "a window": machine.max_rows is not None and len(X) == machine.max_rows,
                    "small C": getattr(machine, "C", 1.0) < 0.05,
                    "large C": getattr(machine, "C", 1.0) > 1e3,
                    "small nu": getattr(machine, "nu", 0.5) < 0.15,
                    "large nu": getattr(machine, "nu", 0.5) > 0.85,
                }
                classes = max(classes, here)
                seen |= {name for name, holds in facts.items() if holds}
    assert seen == set(facts)
