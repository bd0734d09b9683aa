"""A fit on a cluster gives the model of a fit in one process."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("distributed", reason="dask and distributed are not installed")

from conftest import TOL
from support.cluster import WORKERS, keys_of
from support.cluster_fits import CASES, N, bias_is_unique, there  # noqa: F401 - a fixture
from widestreet._src.estimators.scoring import dense_coef

pytestmark = pytest.mark.usefixtures("there")


@pytest.mark.parametrize("case", CASES)
def test_the_model_is_that_of_one_process(client, case):
    far, near = CASES[case].fitted(client)
    X, _, weight = CASES[case].data()
    assert far.certificate_.status == near.certificate_.status == "optimal"
    for mine, other in zip(far.certificates_, near.certificates_, strict=True):
        assert mine.n_rows == other.n_rows
        assert mine.kkt_violation <= mine.tol
        allowed = TOL.strategies_rel * max(1.0, abs(other.dual_objective))
        assert abs(mine.dual_objective - other.dual_objective) <= allowed
    assert far.shape_fit_ == near.shape_fit_ == (N, X.shape[1])
    assert np.abs(far.support_vectors_ - X[far.support_]).max() == 0
    scale = max(1.0, np.abs(dense_coef(near.dual_coef_)).sum())
    value = "predict" if far._targets == "numbers" else "decision_function"
    apart = np.abs(getattr(far, value)(X) - getattr(near, value)(X))
    assert np.max(apart) <= np.sqrt(TOL.violation) * scale
    assert all(bias_is_unique(near, weight))
    assert np.max(np.abs(far.intercept_ - near.intercept_)) <= far.tol
    assert vars(far).keys() - {"client"} == vars(near).keys()
    assert keys_of(client) == []


def test_records_say_what_travelled(client):
    far, _ = CASES["svc"].fitted(client)
    sent = [record.notes["wire_bytes"] for record in far.trace_]
    assert sent[0] > 0
    assert sent == sorted(sent)
    assert far.trace_[-1].notes["workers"] == WORKERS
    rebuilt = [record.notes["rebuilt"] for record in far.trace_]  # Dask may move a station
    assert rebuilt[0] >= 0
    assert rebuilt == sorted(rebuilt)
    assert "wire_bytes" in far.trace_.to_frame()


def test_coefficients_of_equal_rows_stay_in_their_boxes(client):
    case = CASES["equal rows"]
    far, _ = case.fitted(client)
    _, _, weight = case.data()
    assert np.all(weight[far.support_] > 0)
    boxes = case.parameters["C"] * weight[far.support_]
    assert np.all(np.abs(far.dual_coef_[0]) <= boxes * (1 + TOL.feasibility))
    assert far.certificate_.n_distinct_rows < far.certificate_.n_rows
