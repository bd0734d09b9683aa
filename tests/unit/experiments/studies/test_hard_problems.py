"""Problems on which fits do not end: what the reports state of their rows."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.utils.class_weight import compute_class_weight

from widestreet._experiments.studies.hard_problems import CASES, REPORTED


def test_class_weights_and_gamma_are_those_of_the_report():
    case = REPORTED["#30353"]
    X, y = case.load()
    weights = compute_class_weight("balanced", classes=np.array([0, 1]), y=y)
    assert [round(w, 8) for w in weights] == list(case.parameters["class_weight"].values())
    assert 1 / X.var() == pytest.approx(case.parameters["gamma"])


@pytest.mark.parametrize(
    ("name", "shape"), [("#13075", (6, 13)), ("#11079", (547, 22)), ("#4648", (2, 2))]
)
def test_shapes_are_those_of_the_reports(name, shape):
    X, y = REPORTED[name].load()
    assert X.shape == shape
    assert len(y) == len(X)


def test_every_case_has_a_machine_of_both_libraries():
    assert {case.machine for case in CASES.values()} <= {
        "SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM"
    }  # fmt: skip
    assert all(case.limit <= 120 for case in CASES.values())
