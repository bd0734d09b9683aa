"""EnsembleSVC within its limits: bad input, time, steps, Ctrl-C, callbacks, scikit-learn."""

from __future__ import annotations

import logging
import pickle
import re
import time
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import widestreet as ws
from conftest import OF_THREE, TOL
from reference import kernels
from support.clocks import SimulatedClock
from support.fitting import cut_short
from support.interrupted import GENEROUS, Interrupting
from support.machines import GAMMA, data
from support.watcher import Watcher
from widestreet._src.training import ensemble as ensemble_training

KINDS = ("svc", "svc" + OF_THREE)
STREAMED = {"max_memory": 10_000}


def ensemble(**options) -> ws.EnsembleSVC:
    return ws.EnsembleSVC(**{"n_jobs": 1, "random_state": 0, "gamma": GAMMA} | options)


# -- bad input ---------------------------------------------------------------------------------

PARAMETERS = {
    "kernel": ["cubic", "RBF", None, 3, ["rbf"], "sigmoid"],
    "gamma": [-1.0, np.nan, np.inf, "wide", None, True],
    "aggregate": ["mean", "", None, 1],
    "epsilon": [0, -0.1, np.nan, np.inf, "small", None, True],
    "epsilon_start": [0.001, 0, -1.0, np.nan, np.inf, "large", None, True],
    "learning_rate": ["fast", "", None, 0, -1.0, np.nan, np.inf, True, [0.1]],
    "folds": [0, 1, -1, 2.5, "five", True],
    "rank": [0, -1, 1.0, 1.5, 0.0, -0.5, np.nan, np.inf, "low", True, [5]],
    "intercept": ["yes", 1, None],
    "prune": [-0.1, 1.1, np.nan, np.inf, "some", None, True],
    "keep_stages": ["yes", 1, None],
    "class_weight": ["heavy", [1, 2], {5: 1.0}, {1: -1.0}, {1: np.nan}, {1: 0.0}],
    "verbose": ["loud", None, -1],
    "max_iter": [0, -2, 1.5, "many", None, True],
    "decision_function_shape": ["ovx", "", None, True],
    "random_state": ["dice", -1, 1.5],
    "max_time": [0, -1.0, np.nan, np.inf, "1s"],
    "max_memory": [0, -1, "lots", "5 parsecs", True, np.nan],
    "n_jobs": [0, 1.5, "all", True],
    "device": ["gpu", "", None, 0],
    "on_interrupt": ["stop", None, True],
}


@pytest.mark.parametrize("name", PARAMETERS)
def test_a_bad_parameter_is_named(name, capfd):
    X, y = data("svc", 20)
    wrong = (ValueError, TypeError)
    for value in PARAMETERS[name]:
        with pytest.raises(wrong, match=rf"\b{name}\b"):
            ensemble(**{name: value}).fit(X, y)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("options", "cure"),
    [
        ({"gamma": "papr"}, "'paper', 'cv', 'scale', 'auto' or a number, got 'papr'"),
        ({"epsilon": 0.5}, "epsilon_start=0.1 must not be less than epsilon=0.5"),
        ({"rank": 100.0}, "None, an integer or a fraction of the trace between 0 and 1, got 100.0"),
        ({"rank": "auto"}, "None, an integer or a fraction of the trace between 0 and 1, got 'a"),
    ],
)
def test_a_bad_parameter_is_told_what_would_be_good(options, cure):
    with pytest.raises(ValueError, match=re.escape(cure)):
        ensemble(**options).fit(*data("svc", 20))


def test_every_parameter_has_bad_values():
    assert set(PARAMETERS) == set(ensemble().get_params()) - {"degree", "coef0"}


@pytest.mark.parametrize(
    ("name", "value"),
    [("degree", -1), ("degree", 1.5), ("degree", "two"), ("coef0", np.nan), ("coef0", "one")],
)
def test_bad_parameters_of_the_polynomial(name, value):
    with pytest.raises((ValueError, TypeError), match=name):
        ensemble(kernel="poly", **{name: value}).fit(*data("svc", 20))


@pytest.mark.parametrize("options", [{"kernel": "sigmoid"}, {"kernel": "poly", "coef0": -1.0}])
def test_kernels_that_may_be_indefinite_are_refused(options):
    with pytest.raises(ValueError, match=r"kernel=.*positive semidefinite.*coef0 >= 0"):
        ensemble(**options).fit(*data("svc", 20))


@pytest.mark.parametrize("rank", [None, 3, 0.1])
@pytest.mark.parametrize("more", [{}, STREAMED])
def test_a_matrix_that_is_indefinite_is_refused(rank, more, rng):
    y = np.arange(20) % 2
    sign = 2.0 * y - 1.0
    K = np.eye(20) - 0.5 * np.outer(sign, sign)
    if rank is None:  # what a low-rank kernel leaves out cannot be seen
        with pytest.raises(ValueError, match=r"not positive semidefinite .*a'Ka = -0"):
            ensemble(kernel="precomputed", **more).fit(K, y)
    K = np.diag(np.where(np.arange(20) == 7, -1.0, 1.0))
    more = {} if rank else more
    with pytest.raises(ValueError, match=r"not positive semidefinite .*K\(x, x\) = -1"):
        ensemble(kernel="precomputed", rank=rank, **more).fit(K, y)


def test_a_failed_refit_leaves_the_old_model():
    X, y = data("svc", 40)
    model = ensemble(keep_stages=True).fit(X, y)
    before = model.decision_function(X)
    for bad in ({"epsilon": -1.0}, {"kernel": "sigmoid"}, {"rank": 30, "max_memory": 1000}):
        with pytest.raises(ValueError, match=next(iter(bad))):
            clone(model).set_params(**bad).fit(X, y)
        good = model.get_params()
        with pytest.raises(ValueError, match=next(iter(bad))):
            model.set_params(**bad).fit(X, y)
        model.set_params(**good)
        np.testing.assert_array_equal(model.decision_function(X), before)


def test_bad_rows_and_labels():
    X, y = data("svc", 20)
    for rows, labels, message in (
        (np.where(X > 2, np.nan, X), y, "NaN"),
        (X[:10], y, "inconsistent"),
        (X, np.ones(20), "class"),
        (X, X[:, 0] + 0.1, "continuous|Unknown label"),
    ):
        with pytest.raises(ValueError, match=message):
            ensemble().fit(rows, labels)
    with pytest.raises(NotFittedError):
        ensemble().predict(X)
    with pytest.raises(NotFittedError):
        next(ensemble().staged_decision_function(X))
    with pytest.raises(ValueError, match="features"):
        ensemble().fit(X, y).predict(X[:, :2])
    with pytest.raises(TypeError, match="Sparse precomputed"):
        ensemble(kernel="precomputed").fit(sparse.csr_matrix(np.eye(20)), y)


# -- time and steps ----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("aggregate", ["ensemble", "last"])
def test_max_iter_limits_the_steps_of_each_pair(kind, aggregate):
    X, y = data(kind)
    model = ensemble(max_iter=3, aggregate=aggregate)
    with pytest.warns(ConvergenceWarning, match=r"iteration_limit.*gap.*max_iter") as caught:
        model.fit(X, y)
    assert [warning.filename for warning in caught] == [__file__]
    assert set(model.n_iter_) == {3}
    assert {c.status for c in model.certificates_} == {"iteration_limit"}
    assert model.fit_status_ == 1
    assert model.score(X, y) > 0.6
    for unlimited in (-1, 10**6):
        enough = ensemble(max_iter=unlimited, aggregate=aggregate).fit(X, y)
        assert enough.certificate_.status == "approximate"
        assert enough.n_iter_.min() > 3


@pytest.mark.parametrize("options", [{}, STREAMED, {"rank": 5}, {"rank": 0.3}])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seconds", [1e-9, 0.15])
def test_a_time_limit_leaves_a_model(kind, options, seconds):
    """Of a kernel so slow that nothing else takes time; or before anything could begin."""

    def slow(A, B):
        time.sleep(0.01)
        return kernels.matrix("rbf", A, B, gamma=GAMMA)

    X, y = data(kind)
    slowly = {"learning_rate": 1e-6, "max_iter": -1, "keep_stages": True}
    model = ensemble(kernel=slow, max_time=seconds, **slowly, **options)
    begun = time.perf_counter()
    with pytest.warns(ConvergenceWarning, match=r"time_limit.*max_time"):
        model.fit(X, y)
    assert time.perf_counter() - begun < seconds + GENEROUS
    assert "time_limit" in {c.status for c in model.certificates_}
    assert model.fit_status_ == 1
    values = model.decision_function(X)
    assert np.isfinite(values).all()
    assert list(model.staged_decision_function(X))[-1].shape == values.shape
    if seconds == 1e-9:  # it is the Parzen window
        assert set(model.n_iter_) == {1}
        parzen = ensemble(aggregate="parzen").fit(X, y)
        np.testing.assert_allclose(values, parzen.decision_function(X), atol=TOL.decision)


@pytest.mark.parametrize("options", [{"max_memory": 100_000}, {"rank": 5}])
def test_a_time_limit_leaves_time_for_the_certificate(options, monkeypatch):
    """With a kernel so slow that nothing else takes much time."""
    clock = SimulatedClock(monkeypatch)

    def slow(A, B):
        clock.wait(0.02)
        return kernels.matrix("rbf", A, B, gamma=GAMMA)

    X, y = data("svc", 300)
    model = ensemble(kernel=slow, learning_rate=1e-6, max_iter=-1, max_time=0.6, **options)
    with pytest.warns(ConvergenceWarning, match=r"time_limit.*violation.*max_time"):
        model.fit(X, y)
    assert model.certificate_.n_distinct_rows == len(np.unique(np.c_[X, y], axis=0))
    assert np.isfinite(model.certificate_.primal_objective)
    assert model.score(X, y) > 0.8


def test_a_limit_that_is_never_reached_changes_nothing():
    X, y = data("svc" + OF_THREE)
    one, other = ensemble().fit(X, y), ensemble(max_time=1e6, max_iter=10**9).fit(X, y)
    np.testing.assert_array_equal(one.dual_coef_, other.dual_coef_)


@pytest.mark.parametrize("kind", KINDS)
def test_threads_do_not_change_the_model(kind):
    X, y = data(kind, 3000)
    options = {"max_iter": 5, "rank": 20}
    with cut_short():
        one, other = (ensemble(n_jobs=n, **options).fit(X, y) for n in (1, 3))
    np.testing.assert_allclose(
        one.decision_function(X[:200]), other.decision_function(X[:200]), atol=TOL.decision
    )


@pytest.mark.parametrize("kind", KINDS)
def test_many_rows_without_rank_are_told_of_it(kind, monkeypatch):
    monkeypatch.setattr("widestreet._src.estimators.ensemble_width._SLOW_ROWS", 50)
    X, y = data(kind)
    with pytest.warns(UserWarning, match=r"rows takes more than half of max_mem.*rank=") as caught:
        ensemble(**STREAMED).fit(X, y)
    assert [warning.filename for warning in caught] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for options in ({}, {"rank": 5}, STREAMED | {"aggregate": "parzen"}):
            ensemble(**options).fit(X, y)


# -- Ctrl-C ------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, STREAMED, {"rank": 5}], ids=["held", "streamed", "low"])
@pytest.mark.parametrize("kind", KINDS)
def test_an_interrupt_at_any_call_leaves_a_model(kind, options):
    X, y = data(kind, 60)
    limits = options | {"max_iter": 3, "keep_stages": True, "on_interrupt": "keep"}
    whole = Interrupting(None)
    with pytest.warns(ConvergenceWarning, match="iteration_limit"):
        ensemble(kernel=whole, **limits).fit(X, y)
    for at in range(1, whole.calls + 1):
        model = ensemble(kernel=Interrupting(at), **limits)
        with pytest.warns(ConvergenceWarning, match=r"training stopped .*(gap|certif)"):
            model.fit(X, y)
        assert model.fit_status_ == 1
        assert np.isfinite(model.decision_function(X)).all()
        stages = list(model.staged_decision_function(X))
        assert np.isfinite(stages).all()
        statuses = [c.status for c in model.certificates_]
        first = statuses.index("interrupted")
        assert set(statuses[first:]) == {"interrupted"}  # later pairs do not begin
        if kind == "svc":
            size = np.abs(model.dual_coef_).sum()
            assert abs(size - 1) <= TOL.simplex + np.sum(model.pruning_bound_)


def test_an_interrupt_is_raised_by_default():
    X, y = data("svc", 60)
    model = ensemble(kernel=Interrupting(2))
    with (
        pytest.warns(ConvergenceWarning, match="interrupted"),
        pytest.raises(KeyboardInterrupt),
    ):
        model.fit(X, y)
    assert model.certificate_.status == "interrupted"
    assert np.isfinite(model.decision_function(X)).all()


@pytest.mark.parametrize("aggregate", ["ensemble", "last"])
def test_a_model_nobody_had_time_to_examine_states_its_own_objective(aggregate, monkeypatch):
    X, y = data("svc", 60)
    monkeypatch.setattr(ensemble_training, "ANSWER_WITHIN", -1.0)
    seen = []

    def stop(self, record):
        seen.append(record)
        if len(seen) == 6:
            raise KeyboardInterrupt

    monkeypatch.setattr("widestreet._src.estimators.callbacks.RoundReporter.__call__", stop)
    model = ensemble(aggregate=aggregate, on_interrupt="keep", prune=0.0)
    with pytest.warns(ConvergenceWarning, match=r"interrupted.*before the model was certified"):
        model.fit(X, y)
    found = model.certificate_
    assert (found.n_rows, found.kkt_violation) == (0, np.inf)
    K = kernels.matrix("rbf", X[model.support_], gamma=GAMMA)
    coef = model.dual_coef_[0]
    assert found.dual_objective == pytest.approx(-0.5 * coef @ K @ coef, rel=TOL.twin)


# -- whoever looks on --------------------------------------------------------------------------


def test_silent_by_default(capfd, caplog):
    X, y = data("svc")
    state = np.random.get_state()[1].copy()  # noqa: NPY002 - this is the one not to touch
    with warnings.catch_warnings(), caplog.at_level(logging.INFO):
        warnings.simplefilter("error")
        ensemble(rank=5).fit(X, y).decision_function(X)
    assert capfd.readouterr() == ("", "")
    assert caplog.records == []
    assert np.array_equal(np.random.get_state()[1], state)  # noqa: NPY002


@pytest.mark.parametrize("kind", KINDS)
def test_verbose(kind, capfd, caplog):
    X, y = data(kind)
    with caplog.at_level(logging.INFO):
        model = ensemble(verbose=2).fit(X, y)
    assert len(caplog.records) + capfd.readouterr().err.count("\n") >= len(model.trace_)
    ensemble(verbose=True).fit(X, y)
    said = capfd.readouterr().err
    assert "violation" in said
    assert "tol" not in said  # which is not what it ends by


@pytest.mark.parametrize("kind", KINDS)
def test_callbacks_see_every_step_and_may_stop(kind):
    pytest.importorskip("sklearn.callback", reason="scikit-learn has no callbacks")
    X, y = data(kind)
    seen = Watcher()
    watched, alone = ensemble().set_callbacks(seen).fit(X, y), ensemble().fit(X, y)
    np.testing.assert_array_equal(watched.dual_coef_, alone.dual_coef_)
    assert [r.notes["rho"] for r in seen.records] == [r.notes["rho"] for r in watched.trace_]
    stopped = Watcher(stop=lambda context, record: record.round == 4)
    model = ensemble().set_callbacks(stopped).fit(X, y)
    assert set(model.n_iter_) == {4}
    assert model.certificate_.status == "approximate"
    assert model.score(X, y) > 0.6


def test_the_trace_is_a_table():
    pytest.importorskip("pandas")
    X, y = data("svc" + OF_THREE)
    frame = ensemble().fit(X, y).trace_.to_frame()
    assert {"rho", "lower_bound", "eta", "epsilon"} <= set(frame.columns)
    for _, pair in frame.groupby("problem"):
        assert pair["rho"].is_monotonic_decreasing
        assert (pair["lower_bound"] <= pair["rho"]).all()
        assert pair["eta"].iloc[0] == 0
        assert (pair["eta"].iloc[1:] > 0).all()


# -- the rest of scikit-learn ------------------------------------------------------------------


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_pickle_and_clone(form):
    X, y = data("svc" + OF_THREE)
    rows = form(X)
    model = ensemble(keep_stages=True, rank=0.01, class_weight="balanced").fit(rows, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.decision_function(rows), model.decision_function(rows))
    stages = zip(
        again.staged_decision_function(rows), model.staged_decision_function(rows), strict=True
    )
    assert all(np.array_equal(one, other) for one, other in stages)
    assert again.certificates_ == model.certificates_
    fresh = clone(model)
    assert fresh.get_params() == model.get_params()
    assert not hasattr(fresh, "support_")
    np.testing.assert_array_equal(
        fresh.fit(rows, y).decision_function(rows), model.decision_function(rows)
    )
    assert "EnsembleSVC(" in repr(model)


def test_names_of_features():
    pd = pytest.importorskip("pandas")
    X, y = data("svc")
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = ensemble(keep_stages=True).fit(frame, y)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    assert model.n_features_in_ == 3
    for ask in (model.predict, lambda rows: next(model.staged_decision_function(rows))):
        with pytest.raises(ValueError, match="feature names"):
            ask(frame[["c", "b", "a"]])


@pytest.mark.parametrize("kind", KINDS)
def test_searches_and_probabilities(kind):
    X, y = data(kind)
    pipeline = make_pipeline(StandardScaler(), ensemble())
    grid = {"ensemblesvc__gamma": ["paper", 1.0], "ensemblesvc__aggregate": ["ensemble", "parzen"]}
    search = GridSearchCV(pipeline, grid, cv=2, error_score="raise").fit(X, y)
    assert search.best_score_ > 0.7
    calibrated = CalibratedClassifierCV(ensemble(), cv=2).fit(X, y)
    np.testing.assert_allclose(calibrated.predict_proba(X).sum(axis=1), 1.0, rtol=TOL.exact * 10)
    K = kernels.matrix("rbf", X, gamma=GAMMA)
    by_kernel = GridSearchCV(ensemble(kernel="precomputed"), {"prune": [0.0]}, cv=2).fit(K, y)
    by_rows = GridSearchCV(ensemble(), {"prune": [0.0]}, cv=2).fit(X, y)
    assert by_kernel.best_score_ == pytest.approx(by_rows.best_score_, abs=0.02)
