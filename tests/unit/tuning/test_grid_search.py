"""Grid searches with shared work, against scikit-learn's."""

from __future__ import annotations

import re
import warnings
from contextlib import nullcontext

import numpy as np
import pytest
import sklearn.model_selection
from scipy import sparse
from sklearn import config_context
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import make_scorer, mean_absolute_error
from sklearn.model_selection import GroupKFold, KFold, ShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KernelCenterer, StandardScaler

import widestreet as ws
from conftest import OF_THREE, TOL
from support.interrupted import InterruptedScores
from support.machines import any_street, data, machine
from widestreet._src.engines.budget import Budget
from widestreet._src.tuning.grid_search import time_of_refit
from widestreet._src.tuning.plan import Plan
from widestreet._src.tuning.search import Search
from widestreet.model_selection import GridSearchCV

pytestmark = any_street
GRIDS = {
    "svc": {"C": [0.1, 10.0], "gamma": ["scale", 0.5]},
    "nu_svc": {"nu": [0.2, 0.4], "kernel": ["rbf", "laplacian"]},
    "svr": {"C": [0.1, 10.0], "epsilon": [0.1, 0.5]},
    "nu_svr": {"C": [0.1, 10.0], "nu": [0.2, 0.5]},
    "svc" + OF_THREE: {"C": [0.1, 10.0], "class_weight": [None, "balanced"]},
}


def both(model, grid, X, y, params=None, **options):
    """Run our search and that of scikit-learn."""
    options = {"cv": 3} | options
    ours = GridSearchCV(clone(model), grid, **options).fit(X, y, **params or {})
    theirs = sklearn.model_selection.GridSearchCV(model, grid, **options)
    return ours, theirs.fit(X, y, **params or {})


def assert_equal_results(ours, theirs, rows_of_a_fold: int = 40) -> None:
    """Assert that the keys are equal and fold scores differ by one row at the most."""
    extra = {"mean_kkt_violation"} if ours.shared_ else set()
    assert set(ours.cv_results_) == set(theirs.cv_results_) | extra
    for name, expected in theirs.cv_results_.items():
        if "_time" in name or name == "params" or name.startswith(("param_", "rank_")):
            continue
        np.testing.assert_allclose(ours.cv_results_[name], expected, atol=1.0 / rows_of_a_fold)
    assert ours.cv_results_["params"] == theirs.cv_results_["params"]
    if hasattr(theirs, "best_index_"):
        assert ours.best_params_ == theirs.best_params_
        assert ours.best_score_ == pytest.approx(theirs.best_score_, abs=TOL.decision * 100)


@pytest.mark.parametrize("kind", GRIDS)
def test_equal_to_scikit_learns_search(kind):
    X, y = data(kind)
    ours, theirs = both(machine(kind), GRIDS[kind], X, y)
    assert ours.shared_
    assert_equal_results(ours, theirs)
    assert ours.best_estimator_.certificate_.status == "optimal"
    assert ours.n_splits_ == theirs.n_splits_ == 3
    np.testing.assert_allclose(ours.predict(X[:9]), theirs.predict(X[:9]), atol=TOL.decision * 100)


def test_several_scorers_training_scores_and_weights(rng):
    X, y = data("svc")
    options = {"scoring": ["accuracy", "roc_auc"], "refit": "roc_auc", "return_train_score": True}
    weight = rng.integers(0, 3, len(y)).astype(np.float64)
    ours, theirs = both(machine("svc"), GRIDS["svc"], X, y, {"sample_weight": weight}, **options)
    assert ours.shared_
    assert_equal_results(ours, theirs)
    assert ours.score(X, y) == pytest.approx(theirs.score(X, y))


def test_pipelines_and_sparse_rows():
    X, y = data("svc" + OF_THREE)
    scaled = StandardScaler(with_mean=False)
    grid = {
        "svc__C": [0.1, 10.0],
        "svc__gamma": ["scale", 0.5],
        "standardscaler__copy": [False, True],
    }
    for rows in (X, sparse.csr_matrix(X)):
        model = make_pipeline(scaled, machine("svc"))
        ours, theirs = both(model, grid, rows, y)
        assert ours.shared_
        assert_equal_results(ours, theirs)
        assert (ours.predict(rows) == theirs.predict(rows)).all()


def test_groups_and_precomputed_kernels():
    X, y = data("svc")
    model = machine("svc", kernel="precomputed")
    groups = np.arange(len(y)) % 5
    cv = {"cv": GroupKFold(3)}
    ours, theirs = both(model, {"C": [0.1, 10.0]}, X @ X.T, y, {"groups": groups}, **cv)
    assert ours.shared_
    assert_equal_results(ours, theirs)


class SquaredProducts(TransformerMixin, BaseEstimator):
    """Kernel values of rows with the training rows."""

    def fit(self, X, y=None):
        self.rows_ = X
        return self

    def transform(self, X):
        return np.square(X @ self.rows_.T + 1.0)


@pytest.mark.parametrize("first", [KernelCenterer(), SquaredProducts()])
def test_pipelines_that_end_with_a_precomputed_kernel(first):
    X, y = data("svc")
    model = make_pipeline(first, machine("svc", kernel="precomputed"))
    rows = X @ X.T if isinstance(first, KernelCenterer) else X
    ours, theirs = both(model, {"svc__C": [0.1, 1.0]}, rows, y)
    assert not ours.shared_
    assert_equal_results(ours, theirs)


def test_transformers_run_under_the_configuration_of_the_caller():
    X, y = data("svc")
    names = list("abcdefghijklmnopqrst")[: X.shape[1]]
    columns = ColumnTransformer(
        [("first", "passthrough", names[:2])], verbose_feature_names_out=False
    )
    model = make_pipeline(StandardScaler(), columns, machine("svc", n_jobs=2))
    rows = pytest.importorskip("pandas").DataFrame(X, columns=names)
    with config_context(transform_output="pandas"):
        ours, theirs = both(model, {"svc__C": [0.1, 1.0]}, rows, y)
    assert ours.shared_
    assert_equal_results(ours, theirs)


class Reversing(TransformerMixin, BaseEstimator):
    """Transformer whose training output differs from its output for the same rows."""

    def fit(self, X, y=None):
        return self

    def fit_transform(self, X, y=None):
        return -X

    def transform(self, X):
        return X


def test_training_scores_of_pipelines_are_those_of_transformed_rows():
    X, y = data("svc")
    model = make_pipeline(Reversing(), machine("svc"))
    ours, theirs = both(model, {"svc__C": [1.0, 10.0]}, X, y, return_train_score=True)
    assert not ours.shared_
    assert_equal_results(ours, theirs)


def test_one_class_with_a_scorer():
    X, y = data("one_class")
    options = {"scoring": "accuracy", "cv": ShuffleSplit(3, random_state=0)}
    ours, theirs = both(machine("one_class"), {"nu": [0.1, 0.5]}, X, y, **options)
    assert ours.shared_
    assert_equal_results(ours, theirs)


def negative_error(model, X, y) -> float:
    return -mean_absolute_error(y, model.predict(X))


@pytest.mark.parametrize(
    ("model", "grid", "options"),
    [
        (LogisticRegression(), {"C": [1.0, 2.0]}, {}),
        (ws.SVC(loss="squared_hinge"), {"C": [1.0, 2.0]}, {}),
        (ws.SVC(), {"loss": ["hinge", "squared_hinge"]}, {}),
        (ws.SVC(max_iter=10**6), {"C": [1.0, 2.0]}, {}),
        (ws.SVC(strategy="smo"), {"C": [1.0, 2.0]}, {}),
        (ws.SVC(), {"C": [1.0, 2.0]}, {"scoring": negative_error}),
        (make_pipeline(StandardScaler(), ws.SVC()), {"svc": [ws.SVC(), ws.NuSVC()]}, {}),
    ],
)
def test_what_cannot_be_shared_is_left_to_scikit_learn(model, grid, options):
    X, y = data("svc")
    ours, theirs = both(model, grid, X, y, **options)
    assert not ours.shared_
    assert_equal_results(ours, theirs)


def test_parameters_without_effect_are_named():
    X, y = data("svc")
    options = {"max_time": 60, "max_memory": "1GB", "progress": True, "on_interrupt": "keep"}
    search = GridSearchCV(LogisticRegression(), {"C": [1.0]}, **options)
    with pytest.warns(UserWarning, match="no effect.*because") as found:
        search.fit(X, y)
    assert {str(one.message).split()[0] for one in found} == set(options)


@pytest.mark.parametrize("model", [ws.SVC(), ws.SVC(strategy="smo")])
def test_folds_of_a_generator(model):
    X, y = data("svc")
    search, folds = GridSearchCV(model, {"C": [1.0, 2.0]}), list(KFold(3).split(X))
    search.set_params(cv=iter(folds)).fit(X, y)
    expected = sklearn.model_selection.GridSearchCV(model, {"C": [1.0, 2.0]}, cv=folds).fit(X, y)
    assert_equal_results(search, expected)


def test_a_function_that_chooses_sees_the_results():
    X, y = data("svc")
    seen = {}

    def first(results):
        seen.update(results)
        return 0

    found = GridSearchCV(machine("svc"), GRIDS["svc"], refit=first).fit(X, y)
    assert found.best_index_ == 0
    assert set(seen) == set(found.cv_results_)
    for name in ("mean_fit_time", "std_fit_time", "mean_kkt_violation"):
        np.testing.assert_array_equal(seen[name], found.cv_results_[name])


def test_scorers_made_by_scikit_learn_are_shared():
    X, y = data("svr")
    scorer = {"error": make_scorer(mean_absolute_error, greater_is_better=False), "r2": "r2"}
    ours, theirs = both(machine("svr"), GRIDS["svr"], X, y, scoring=scorer, refit="error")
    assert ours.shared_
    assert_equal_results(ours, theirs)


def test_candidates_that_fail():
    X, y = data("svc")
    grid = {"nu": [0.2, 0.999], "gamma": [0.5]}
    y = np.where(np.arange(len(y)) % 4 == 0, 1, -1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours, theirs = both(machine("nu_svc"), grid, X, y)
    assert ours.shared_
    assert np.isnan(ours.cv_results_["mean_test_score"][1])
    assert_equal_results(ours, theirs)
    with pytest.raises(ValueError, match="nu"):
        GridSearchCV(machine("nu_svc"), grid, error_score="raise").fit(X, y)


def test_errors_are_those_of_scikit_learn():
    X, y = data("svc")
    svm, pipeline = ws.SVC(), make_pipeline(StandardScaler(), ws.SVC())
    for model, params, given in (
        (svm, {"D": [1]}, y),
        (svm, {"C": [1]}, y[:-1]),
        (svm, {"C": []}, y),
        (pipeline, {"svc__D": [1]}, y),
        (pipeline, {"standardscaler__with_men": [True]}, y),
    ):
        with pytest.raises(ValueError, match=r"\w") as theirs:
            sklearn.model_selection.GridSearchCV(model, params).fit(X, given)
        with pytest.raises(ValueError, match=re.escape(str(theirs.value))) as ours:
            GridSearchCV(model, params).fit(X, given)
        assert ours.value.__context__ is None  # that work cannot be shared did not cause it


def stopped_after(monkeypatch: pytest.MonkeyPatch, candidates: int, stop: BaseException) -> None:
    """Let searches be stopped when so many candidates were evaluated."""
    run = Plan.run

    def stopping(self: Plan) -> None:
        def tell(part: float) -> None:
            if sum(self.complete) == candidates:
                raise stop

        self.tell = tell
        run(self)

    monkeypatch.setattr(Plan, "run", stopping)


@pytest.mark.parametrize("action", ["keep", "raise"])
def test_ctrl_c_keeps_the_best_so_far(action, monkeypatch):
    X, y = data("svc")
    stopped_after(monkeypatch, 3, KeyboardInterrupt())
    search = GridSearchCV(machine("svc"), GRIDS["svc"], on_interrupt=action)
    raised = pytest.raises(KeyboardInterrupt) if action == "raise" else nullcontext()
    with raised, pytest.warns(UserWarning, match="after 3 of 4 candidates"):
        search.fit(X, y)
    scores = search.cv_results_["mean_test_score"]
    assert np.isnan(scores).sum() == 1
    assert search.best_score_ == np.nanmax(scores)
    assert search.stopped_ == "interrupt"
    if action == "keep":
        assert search.best_estimator_.certificate_.status == "optimal"
    else:
        with pytest.raises(NotFittedError):
            search.predict(X)


@pytest.mark.parametrize("action", ["keep", "raise"])
def test_ctrl_c_during_the_refit_keeps_the_results(action, monkeypatch):
    X, y = data("svc")
    fit, seen = ws.SVC.fit, []

    def interrupted(self, *given, **options):
        seen.append(self.on_interrupt)
        if self.on_interrupt == "raise":
            raise KeyboardInterrupt
        return fit(self, *given, **options)

    monkeypatch.setattr(ws.SVC, "fit", interrupted)
    search = GridSearchCV(machine("svc"), GRIDS["svc"], on_interrupt=action)
    with pytest.raises(KeyboardInterrupt) if action == "raise" else nullcontext():
        search.fit(X, y)
    assert seen == [action]
    assert search.best_params_ == search.cv_results_["params"][search.best_index_]
    assert hasattr(search, "best_estimator_") == (action == "keep")
    if action == "keep":
        assert search.best_estimator_.on_interrupt == "raise"
    else:
        assert search.stopped_ == "interrupt"


@pytest.mark.parametrize("search", [GridSearchCV(ws.SVC(), {"C": [1.0]}), ws.SVCCV()])
def test_ctrl_c_before_a_candidate_is_complete(search, monkeypatch):
    X, y = data("svc")
    stopped_after(monkeypatch, 0, KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt, match="there is no model to keep"):
        clone(search).set_params(on_interrupt="keep").fit(X, y)


def test_an_interrupted_search_has_no_model_of_the_fit_before(monkeypatch):
    X, y = data("svc")
    search = GridSearchCV(machine("svc"), GRIDS["svc"]).fit(X, y)
    stopped_after(monkeypatch, 3, KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt), pytest.warns(UserWarning, match="after 3"):
        search.fit(X, y)
    assert not hasattr(search, "best_estimator_")


def test_the_refit_has_the_rest_of_the_time(monkeypatch):
    X, y = data("svc")
    fit, seen = ws.SVC.fit, []

    def noting(self, *given, **options):
        seen.append(self.max_time)
        return fit(self, *given, **options)

    monkeypatch.setattr(ws.SVC, "fit", noting)
    pipeline = make_pipeline(StandardScaler(), machine("svc"))
    for model, name in ((machine("svc"), "C"), (pipeline, "svc__C")):
        search = GridSearchCV(model, {name: [1.0, 2.0]}, max_time=1000.0).fit(X, y)
        assert 250.0 <= seen[-1] < 1000.0
        assert search.best_estimator_.get_params()[name.replace("C", "max_time")] is None
        assert search.refit_time_ > 0


def test_a_refit_after_a_search_that_ended_late_has_its_share():
    late, early = Budget(1000.0), Budget(1000.0)
    late._begun -= 990.0
    assert time_of_refit(late) == pytest.approx(250.0)
    assert time_of_refit(early) == pytest.approx(1000.0, rel=0.01)
    assert time_of_refit(Budget()) is None


def test_no_time():
    X, y = data("svc")
    with pytest.raises(TimeoutError, match="max_time"):
        GridSearchCV(machine("svc"), GRIDS["svc"], max_time=1e-9).fit(X, y)


def test_limits_are_checked_and_kept():
    X, y = data("svc")
    with pytest.raises(ValueError, match="max_time"):
        GridSearchCV(ws.SVC(), {"C": [1]}, max_time=0).fit(X, y)
    with pytest.raises(ValueError, match="on_interrupt"):
        GridSearchCV(ws.SVC(), {"C": [1]}, on_interrupt="ignore").fit(X, y)
    search = GridSearchCV(ws.SVC(), {"C": [1.0]}, max_time=60, max_memory="1GB", n_jobs=1)
    assert clone(search).fit(X, y).get_params()["max_time"] == 60


def test_a_limit_on_memory_that_is_no_size_is_refused():
    X, y = data("svc")
    with pytest.raises(ValueError, match="max_memory"):
        GridSearchCV(ws.SVC(), {"C": [1.0]}, max_memory="lots").fit(X, y)


@pytest.mark.parametrize("error", [ValueError, TypeError, RuntimeError])
def test_errors_of_the_shared_run_are_raised(error, monkeypatch):
    X, y = data("svc")

    def failing(self):
        raise error("of the run")

    monkeypatch.setattr(Search, "run", failing)
    for options in ({}, {"halving": 2}, {"racing": True}):
        for model, prefix in ((ws.SVC(), ""), (make_pipeline(StandardScaler(), ws.SVC()), "svc__")):
            with pytest.raises(error, match="of the run"):
                GridSearchCV(model, {f"{prefix}C": [1.0, 2.0]}, **options).fit(X, y)


class Raising:
    """Linear kernel that may fail. It defines equality, so Python gives it no hash."""

    def __init__(self, error):
        self.error = error

    def __eq__(self, other):
        return isinstance(other, Raising)

    def __call__(self, A, B):
        if self.error is not None:
            raise self.error("of the kernel")
        return A @ B.T


@pytest.mark.parametrize("error", [ValueError, RuntimeError])
def test_errors_of_a_kernel_are_those_of_its_fits(error):
    X, y = data("svc")
    grid = {"kernel": [Raising(None), Raising(error), "linear"], "C": [0.1, 1.0]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours, theirs = both(ws.SVC(), grid, X, y)
    assert ours.shared_
    assert_equal_results(ours, theirs)
    failed = np.isnan(ours.cv_results_["mean_test_score"])
    assert failed.tolist() == [False, True, False] * 2
    with pytest.raises(error, match="of the kernel"):
        GridSearchCV(ws.SVC(), grid, error_score="raise").fit(X, y)


@pytest.mark.parametrize("options", [{"halving": 2}, {"racing": True}])
def test_rounds_in_which_all_fits_fail(options):
    X, y = data("svc")
    y = np.where(np.arange(len(y)) % 4 == 0, 1, -1)
    search = GridSearchCV(machine("nu_svc"), {"nu": [0.98, 0.99]}, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(ValueError, match=r"All the \d+ fits failed"):
            search.fit(X, y)


@pytest.mark.parametrize("action", ["keep", "raise"])
def test_ctrl_c_while_candidates_are_scored_keeps_the_best_so_far(action):
    X, y = data("svc")
    expected = GridSearchCV(machine("svc"), GRIDS["svc"], cv=3).fit(X, y)
    scorer = make_scorer(InterruptedScores(8))  # in the second fold of the third candidate
    search = GridSearchCV(
        machine("svc"), GRIDS["svc"], cv=3, scoring=scorer, on_interrupt=action, error_score="raise"
    )
    raised = pytest.raises(KeyboardInterrupt) if action == "raise" else nullcontext()
    with raised, pytest.warns(UserWarning, match="after 2 of 4 candidates"):
        search.fit(X, y)
    scores = search.cv_results_["mean_test_score"]
    np.testing.assert_array_equal(scores[:2], expected.cv_results_["mean_test_score"][:2])
    assert np.isnan(scores[2:]).all()
    assert search.best_score_ == np.nanmax(scores)
    assert search.stopped_ == "interrupt"
    assert hasattr(search, "best_estimator_") == (action == "keep")
    if action == "keep":
        assert search.best_estimator_.certificate_.status == "optimal"


def test_ctrl_c_while_the_first_candidate_is_scored_changes_nothing():
    X, y = data("svc")
    search = GridSearchCV(machine("svc"), GRIDS["svc"], on_interrupt="keep").fit(X, y)
    search.set_params(scoring=make_scorer(InterruptedScores(2)))
    before = dict(vars(search))
    with pytest.raises(KeyboardInterrupt, match="there is no model to keep"):
        search.fit(X, y)
    assert vars(search) == before
