"""The problems of INSVR."""

from __future__ import annotations

import numpy as np
import pytest

from widestreet._experiments.papers.insvr_problems import KERNELS, SETS, problems
from widestreet.online import OnlineNuSVR


def test_nine_sets_with_three_kernels():
    assert len(problems()) == len(SETS) * len(KERNELS) == 27


@pytest.mark.parametrize("kernel", KERNELS)
def test_kernel_values_are_those_of_the_estimators(kernel):
    problem = problems()[f"friedman-{kernel}"]
    split = problem.load(40)
    model = OnlineNuSVR(**problem.options(), C=problem.C).fit(split.X, split.y)
    values = problem.values(split.X, model.support_vectors_)
    scores = values @ np.ravel(model.dual_coef_) + model.intercept_
    assert scores == pytest.approx(model.predict(split.X))
