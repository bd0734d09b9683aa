"""Widths of kernels that ensembles choose by their folds."""

from __future__ import annotations

import numpy as np
import pytest

import widestreet as ws
from conftest import OF_THREE, TOL
from support.machines import data
from widestreet._src.engines.budget import OutOfBudget
from widestreet._src.estimators import ensemble_width
from widestreet.datasets import checkerboard

QUICK = {"gamma": "cv", "epsilon": 0.05, "folds": 3, "n_jobs": 1}


@pytest.mark.parametrize("kind", ["svc", "svc" + OF_THREE])
@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
def test_the_model_is_that_of_the_best_width(kind, kernel):
    X, y = data(kind)
    model = ws.EnsembleSVC(**QUICK, kernel=kernel, random_state=0).fit(X, y)
    fixed = ws.EnsembleSVC(**QUICK | {"gamma": model.gamma_}, kernel=kernel).fit(X, y)
    np.testing.assert_allclose(
        model.decision_function(X), fixed.decision_function(X), atol=TOL.decision
    )
    assert (np.diff(model.gammas_) > 0).all()
    assert ((model.gamma_errors_ >= 0) & (model.gamma_errors_ <= 1)).all()
    assert model.gamma_ == model.gammas_[np.argmin(model.gamma_errors_)]
    assert fixed.gammas_.size == 0
    assert fixed.gamma_ == model.gamma_


def test_rows_of_which_the_width_of_the_paper_is_too_wide():
    X, y = checkerboard(400, random_state=0)
    Z, z = checkerboard(2000, random_state=1)
    paper, chosen = (ws.EnsembleSVC(**QUICK | {"gamma": g}).fit(X, y) for g in ("paper", "cv"))
    assert chosen.gamma_ > 2.0 * paper.gamma_
    assert chosen.score(Z, z) > paper.score(Z, z) + 0.02


def test_a_weight_is_a_repeated_row():
    X, y = data("svc", 60)
    weight = np.where(np.arange(60) < 20, 2.0, 1.0)
    one = ws.EnsembleSVC(**QUICK).fit(X, y, sample_weight=weight)
    every = np.repeat(np.arange(60), weight.astype(int))
    other = ws.EnsembleSVC(**QUICK).fit(X[every], y[every])
    np.testing.assert_allclose(one.gammas_, other.gammas_, rtol=TOL.twin)
    np.testing.assert_allclose(
        one.decision_function(X), other.decision_function(X), atol=TOL.decision
    )


def test_a_fitted_width_is_saved_and_replaced(tmp_path):
    X, y = data("svc")
    model = ws.EnsembleSVC(**QUICK, random_state=0).fit(X, y)
    model.save(tmp_path / "model.street")
    again = ws.load(tmp_path / "model.street")
    assert again.gamma_ == model.gamma_
    np.testing.assert_array_equal(again.gamma_errors_, model.gamma_errors_)
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    model.set_params(gamma=0.25).fit(X, y)
    assert (model.gamma_, model.gammas_.size) == (0.25, 0)


@pytest.mark.parametrize(
    "wrong", [{"kernel": "linear"}, {"folds": None}, {"aggregate": "last"}, {"gamma": "cross"}]
)
def test_what_has_no_width_to_choose_is_refused(wrong):
    X, y = data("svc")
    with pytest.raises(ValueError, match="gamma"):
        ws.EnsembleSVC(**QUICK | wrong).fit(X, y)


def test_one_row_of_a_class_cannot_be_held_out():
    X, y = data("svc", 20)
    y = np.where(np.arange(20) == 0, 1, -1)
    with pytest.raises(ValueError, match="two different rows of each class"):
        ws.EnsembleSVC(**QUICK).fit(X, y)


def test_time_that_is_over_ends_the_choice(monkeypatch):
    X, y = data("svc")
    error, calls = ensemble_width.held_out_error, []

    def limited(*given):
        calls.append(given)
        if len(calls) > 3:
            raise OutOfBudget("time_limit")
        return error(*given)

    monkeypatch.setattr(ensemble_width, "held_out_error", limited)
    model = ws.EnsembleSVC(**QUICK, max_time=1000.0).fit(X, y)
    assert len(model.gammas_) == 3
    assert model.gamma_ in model.gammas_
    model.fit(X, y)
    assert model.gammas_.size == 0
    assert model.gamma_ == ws.EnsembleSVC(**QUICK | {"gamma": "paper"}).fit(X, y).gamma_


def test_ctrl_c_during_the_choice_leaves_the_model(monkeypatch):
    X, y = data("svc")
    model = ws.EnsembleSVC(**QUICK, on_interrupt="keep").fit(X, y)
    expected = model.decision_function(X)

    def interrupted(*given):
        raise KeyboardInterrupt

    monkeypatch.setattr(ensemble_width, "held_out_error", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    np.testing.assert_array_equal(model.decision_function(X), expected)
