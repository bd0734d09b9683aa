"""What both wrappers share: the SVM within, limits, files, failed calls."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn.svm
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import widestreet as ws
from conftest import TOL
from support.machines import data
from widestreet._src.calibration import held_out
from widestreet._src.calibration.wrapper import SVMWrapper
from widestreet._src.engines.budget import Budget
from widestreet.io import ArchiveError

WRAPPED = {
    "svc": ws.CalibratedSVC(ws.SVC(gamma=0.5, n_jobs=1)),
    "isotonic": ws.CalibratedSVC(ws.NuSVC(nu=0.3, gamma=0.5, n_jobs=1), method="isotonic", cv=3),
    "svc of three": ws.CalibratedSVC(ws.SVC(gamma=0.5, n_jobs=1), method="temperature"),
    "svr": ws.IntervalSVR(ws.SVR(gamma=0.5, n_jobs=1)),
    "nu_svr": ws.IntervalSVR(ws.NuSVR(gamma=0.5, n_jobs=1), cv=3),
    "tuned svc": ws.CalibratedSVC(ws.SVCCV(Cs=[1.0], gammas=[0.5], n_jobs=1), cv=3),
    "tuned svr": ws.IntervalSVR(ws.SVRCV(Cs=[1.0], gammas=[0.5], epsilons=[0.1], n_jobs=1)),
}


def rows(kind):
    return data({"isotonic": "nu_svc"}.get(kind, kind.removeprefix("tuned ")), 60)


@pytest.fixture(params=WRAPPED)
def kind(request):
    return request.param


@pytest.fixture
def model(kind):
    return clone(WRAPPED[kind])


def answers(model, X):
    if isinstance(model, ws.CalibratedSVC):
        return model.predict_proba(X)
    return np.column_stack([model.predict(X), model.predict_interval(X)])


def by_street(model, folder):
    one, other = folder / "one.street", folder / "other.street"
    model.save(one)
    found = ws.load(one)
    found.save(other)
    assert one.read_bytes() == other.read_bytes()
    return found


def by_skops(model, folder):
    skops = pytest.importorskip("skops.io")
    return skops.loads(skops.dumps(model), trusted=ws.trusted_types())


WAYS = {
    "street": by_street,
    "skops": by_skops,
    "pickle": lambda model, folder: pickle.loads(pickle.dumps(model)),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_model_comes_back(kind, model, way, tmp_path):
    X, y = rows(kind)
    model.fit(X, y)
    other = WAYS[way](model, tmp_path)
    assert type(other) is type(model)
    np.testing.assert_array_equal(answers(other, X * 1.125), answers(model, X * 1.125))
    assert vars(other).keys() == vars(model).keys()
    assert repr(other) == repr(model)
    assert other.certificate_ == model.certificate_


def test_an_unfitted_model_comes_back(model):
    assert repr(pickle.loads(pickle.dumps(model))) == repr(model)
    with pytest.raises(NotFittedError):
        model.save("unused.street")


def test_damaged_files_are_refused(kind, model, tmp_path):
    X, y = rows(kind)
    model.fit(X, y)
    if isinstance(model, ws.CalibratedSVC):
        model.calibrators_ = []
    else:
        model.estimator_ = ws.SVC().fit(*data("svc", 20))
    model.save(tmp_path / "wrong.street")
    with pytest.raises(ArchiveError, match="is damaged"):
        ws.load(tmp_path / "wrong.street")


def test_the_certificate_is_that_of_the_svm(kind, model):
    X, y = rows(kind)
    with pytest.raises(NotFittedError):
        model.certificate_  # noqa: B018
    alone = clone(model.estimator).fit(X, y)
    assert model.fit(X, y).certificate_ == alone.certificate_
    assert not hasattr(model.estimator, "support_")
    np.testing.assert_array_equal(model.estimator_.dual_coef_, alone.dual_coef_)


def test_none_is_a_default():
    for make, kind, inner in (
        (ws.CalibratedSVC, "svc", ws.SVC),
        (ws.IntervalSVR, "svr", ws.SVR),
    ):
        assert type(make().fit(*rows(kind)).estimator_) is inner


@pytest.mark.parametrize(
    "estimator",
    [sklearn.svm.SVC(), ws.OneClassSVM(), ws.EnsembleSVC(), ws.SVC, "svc", make_pipeline(ws.SVC())],
    ids=str,
)
def test_other_estimators_are_refused(estimator):
    for make in (ws.CalibratedSVC, ws.IntervalSVR):
        with pytest.raises(TypeError, match=r"^estimator must be"):
            make(estimator).fit(*rows("svc"))


def test_transformers_stand_before(kind, model):
    X, y = rows(kind)
    with pytest.raises(TypeError, match="put the transformers before it: make_pipeline"):
        clone(model).set_params(estimator=make_pipeline(StandardScaler(), model.estimator)).fit(
            X, y
        )
    whole = make_pipeline(StandardScaler(), model).fit(X, y)
    scaled = StandardScaler().fit_transform(X)
    np.testing.assert_array_equal(whole.predict(X), clone(model).fit(scaled, y).predict(scaled))


def test_rows_in_files_are_refused(kind, model, tmp_path):
    X, y = rows(kind)
    pd.DataFrame(X).assign(y=y).to_csv(tmp_path / "rows.csv", index=False)
    stored = ws.open_rows(tmp_path / "rows.csv", target="y")
    with pytest.raises(TypeError, match=r"X.to_numpy\(\) and y.to_numpy\(\)"):
        model.fit(*stored)


def test_names_of_columns(kind, model):
    X, y = rows(kind)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model.fit(frame, pd.Series(y))
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    np.testing.assert_array_equal(answers(model, frame), answers(clone(model).fit(X, y), X))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["b", "a", "c"]])
    assert not hasattr(model.fit(X, y), "feature_names_in_")


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_too_little_time_is_named_and_changes_nothing(kind, model):
    X, y = rows(kind)
    model.fit(X, y)
    before = answers(model, X)
    model.set_params(estimator__max_time=1e-9)
    with pytest.raises(TimeoutError, match=r"max_time=.*e-.*raise max_time"):
        model.fit(X, y)
    np.testing.assert_array_equal(answers(model, X), before)
    model.set_params(estimator__max_time=1e4).fit(X, y)
    assert model.estimator_.max_time == 1e4
    np.testing.assert_array_equal(answers(model, X), before)


@pytest.mark.parametrize(
    ("cv", "message"),
    [([], "has no folds"), ([(np.arange(60), np.arange(60))], "60 rows of fold 0, such as row 0")],
    ids=["no folds", "trained on the test rows"],
)
def test_folds_that_hold_nothing_out_are_refused(kind, model, cv, message):
    X, y = rows(kind)
    with pytest.raises(ValueError, match=f"^cv.*{message}"):
        model.set_params(cv=cv).fit(X, y)
    assert not hasattr(model, "estimator_")


def test_masks_are_folds(kind, model):
    X, y = rows(kind)
    masks = [(np.arange(60) % 5 != k, np.arange(60) % 5 == k) for k in range(5)]
    numbers = [(np.flatnonzero(train), np.flatnonzero(test)) for train, test in masks]
    one, other = (clone(model).set_params(cv=cv).fit(X, y) for cv in (masks, numbers))
    np.testing.assert_array_equal(answers(one, X), answers(other, X))


def looks_after_the_svm(monkeypatch, at=None):
    """Count looks at the clock after the SVM is trained; Ctrl-C arrives at one of them."""
    looks, fitted, look = [], SVMWrapper._fitted_machine, Budget.look_for_stop

    def counted(budget):
        looks.append(budget)
        if len(looks) == at:
            raise KeyboardInterrupt
        look(budget)

    def then(self, *given):
        found = fitted(self, *given)
        monkeypatch.setattr(Budget, "look_for_stop", counted)
        return found

    monkeypatch.setattr(SVMWrapper, "_fitted_machine", then)
    return looks


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # of a fold
@pytest.mark.parametrize("cv", ["loo", 3])
@pytest.mark.parametrize("most", [10, 5000], ids=["fits of their own", "shared folds"])
@pytest.mark.parametrize("part", [0.0, 0.5, 1.0])
def test_ctrl_c_during_held_out_models_changes_nothing(kind, model, cv, most, part, monkeypatch):
    X, y = rows(kind)
    monkeypatch.setattr(held_out, "_SHARED_ROWS", most)
    if most == 10:
        monkeypatch.setattr(held_out, "scores_by_near_rows", lambda *given, **options: None)
    model.set_params(cv=cv, estimator__on_interrupt="keep", estimator__random_state=0)
    with monkeypatch.context() as patch:
        looks = looks_after_the_svm(patch)
        before = answers(model.fit(X, y), X)
    fresh = clone(model)
    for one in (model, fresh):
        with monkeypatch.context() as patch:
            looks_after_the_svm(patch, at=1 + int(part * (len(looks) - 1)))
            with pytest.raises(KeyboardInterrupt):
                one.fit(X, y)
    np.testing.assert_array_equal(answers(model, X), before)
    assert not hasattr(fresh, "estimator_")


def test_parameters_that_were_chosen_are_those_of_the_other_models():
    X, y = rows("svc")
    inner = ws.SVCCV(Cs=[1.0], cv=3, random_state=0, n_jobs=1, tol=TOL.twins)
    tuned = ws.CalibratedSVC(inner, cv=3).fit(X, y)
    chosen = tuned.estimator_.best_estimator_
    fixed = ws.CalibratedSVC(clone(chosen), cv=3).fit(X, y)
    assert tuned.estimator_.gamma_ == chosen.gamma
    difference = tuned.predict_proba(X) - fixed.predict_proba(X)
    np.testing.assert_allclose(difference, 0.0, atol=TOL.decision)


def test_the_name_of_our_class_is_in_the_message_about_another():
    with pytest.raises(TypeError, match=r"pass widestreet\.SVC with these parameters"):
        ws.CalibratedSVC(sklearn.svm.SVC()).fit(*rows("svc"))


def test_a_verbose_svm_shows_the_progress_of_the_other_models(kind, model, capsys):
    X, y = rows(kind)
    model.set_params(estimator__verbose=1).fit(X, y)
    assert "models without some rows" in capsys.readouterr().err
