"""Trials of one more sample: what they count, and that every solution is checked."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from widestreet._experiments.harness import measure
from widestreet._experiments.harness.measurement import Measurement, Method
from widestreet._experiments.papers import insvr_figures, insvr_problems, insvr_table, insvr_trials
from widestreet._experiments.papers.insvr import PAPER
from widestreet.online import OnlineNuSVR


@pytest.mark.parametrize("kernel", insvr_problems.KERNELS)
def test_a_check_knows_optima_from_others(kernel):
    problem, rows = insvr_problems.problems()[f"friedman-{kernel}"], 60
    split = problem.load(rows)
    model = OnlineNuSVR(**problem.options(), C=problem.C, scaling="schoelkopf")
    model.fit(split.X, split.y)
    coef = np.zeros(rows)
    coef[model.support_] = model.dual_coef_[0]
    K, box = problem.values(split.X, split.X), problem.C / rows
    found = insvr_trials.checked(K, split.y, coef, box)
    assert max(found.violation, found.gap) < 1e-12
    for wrong in (0.9 * coef, coef + 0.01 * box, np.roll(coef, 1)):
        found = insvr_trials.checked(K, split.y, wrong, box)
        assert found.violation > 1e-4
    assert insvr_trials.checked(K, split.y, 0 * coef, box).gap > 0.01


def test_a_check_allows_a_tube_without_width():
    """Then the coefficients need not use up nu."""
    y = np.ones(10)
    found = insvr_trials.checked(np.eye(10), y, np.zeros(10), 1.0)
    assert found.violation == 0
    y[0] = 2.0
    assert insvr_trials.checked(np.eye(10), y, np.zeros(10), 1.0).violation > 0.4


def trials_of(method: Method, kernel: str = "rbf", rows: int = 200, **changes) -> Measurement:
    """A measurement on Friedman with other parameters."""
    method = replace(method, parameters=method.parameters | changes)
    return Measurement(f"friedman-{kernel}", rows, method)


@pytest.mark.parametrize("kernel", insvr_problems.KERNELS)
def test_insvr_counts_cases_and_checks_every_trial(kernel):
    one = trials_of(insvr_table.methods("friedman", kernel, True)[0], kernel, trials=6)
    first, again = measure.measure(PAPER, [one, one])
    assert first["cells"] == again["cells"]
    assert [cell["size"] for cell in first["cells"]] == list(insvr_table.SIZES)
    assert first["trials"] == 6 * len(insvr_table.SIZES)
    assert first["failed"] == 0
    assert max(first["violation"], first["relative_gap"]) < 1e-9
    assert all(cell["ia"] >= cell["trials"] for cell in first["cells"])
    assert all(cell["sc_1"] == 0 for cell in first["cells"] if cell["size"] != 20)


def test_sc_2_of_insvr_depends_on_the_optimum_to_begin_with():
    vertex, shared = insvr_table.methods(*insvr_table.EXACT, True)
    chosen = {"trials": 4, "sizes": [10]}
    plan = [trials_of(one, insvr_table.EXACT[1], **chosen) for one in (vertex, shared)]
    (first,), (other,) = [found["cells"] for found in measure.measure(PAPER, plan)]
    assert first["no_tube"] == other["no_tube"] > 0
    assert first["held"] > 0 == first["sc_2"]
    assert other["held"] >= other["sc_2"] > 0
    assert max(first["violation"], other["violation"]) < 1e-9


def test_shares_change_neither_sum_nor_function():
    alpha = np.array([[1.0, 3.0, 0.0, 2.0], [0.5, 0.0, 2.5, 2.0]])
    shared = insvr_trials.spread(alpha, 3.0)
    np.testing.assert_allclose(shared[0] - shared[1], alpha[0] - alpha[1])
    assert shared.sum() == pytest.approx(alpha.sum())
    assert np.count_nonzero(shared.min(axis=0)) == 3  # all but the one at its bound
    assert shared.max() <= 3.0


def test_insvr_and_others_agree_on_one_more_row():
    chosen = {"trials": 3, "sizes": [20, 50, 500], "seconds": 60.0}
    (found,) = measure.measure(PAPER, [trials_of(insvr_figures.method(True), **chosen)])
    assert [cell["size"] for cell in found["cells"]] == [20, 50]  # 500 are not there
    for cell in found["cells"]:
        assert cell["trials"] == 3
        for way in insvr_trials.WAYS:
            assert cell[way]["seconds"] > 0
            assert cell[way]["gap"] < (1e-9 if way in ("insvr", "path") else 1e-2)


def test_a_trial_that_fails_is_counted(monkeypatch):
    def stuck(*arguments):
        raise RuntimeError("not settled")

    monkeypatch.setattr(insvr_trials.Insvr, "add", stuck)
    monkeypatch.setattr(insvr_trials.Insvr, "load", lambda *arguments: None)
    one = trials_of(insvr_table.methods("friedman", "rbf", True)[0], rows=50, trials=2)
    (found,) = measure.measure(PAPER, [one])
    assert [cell["failed"] for cell in found["cells"]] == [2] * len(insvr_table.SIZES)
