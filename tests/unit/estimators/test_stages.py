"""Coefficients of every step of an ensemble."""

from __future__ import annotations

import numpy as np

from support.fitted_models import fitted


def test_the_last_stage_of_each_pair_is_kept_with_its_rows():
    model = fitted("ensemble of three/rbf/dense").model
    stages = model._stages
    assert len(stages.rows) == len(stages.coefs) == len(model.intercept_)
    assert stages.vectors.shape[0] == len(stages.column)
    for rows, coefs in zip(stages.rows, stages.coefs, strict=True):
        assert coefs.shape[1] == len(rows)
        assert np.isfinite(coefs).all()
    assert not stages.raised
