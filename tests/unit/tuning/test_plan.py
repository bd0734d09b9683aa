"""Plans of searches: what is shared."""

from __future__ import annotations

import signal
from dataclasses import replace
from threading import Event

import numpy as np
import pytest
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import widestreet as ws
from conftest import OF_THREE
from support.cross_validation import folds_of
from support.machines import data, machine
from widestreet._src.engines.budget import Budget, OutOfBudget
from widestreet._src.tuning import plan as module
from widestreet._src.tuning.matrices import KernelMatrices
from widestreet._src.tuning.plan import CannotShare, Machine, Plan
from widestreet._src.tuning.search import Search
from widestreet._src.tuning.tasks import SearchData, Task
from widestreet.model_selection import GridSearchCV


class Counted:
    """Identity that counts its calls; copies count as well."""

    number = 0

    def __call__(self, X):
        self.number += 1
        return X

    def __deepcopy__(self, memo):
        return self


def plan(model, candidates, budget=None, **options):
    X, y = data("svc")
    splits = folds_of(model, X, y)
    svm = Machine.of(model)
    settings = svm.estimator._settings()
    budget = budget or Budget()
    return Plan(svm, X, y, None, candidates, splits, False, budget, settings, **options)


def test_the_machine_of_a_pipeline():
    found = Machine.of(make_pipeline(StandardScaler(), ws.SVC()))
    assert type(found.estimator) is ws.SVC
    assert found.prefix == "svc__"
    assert found.candidate({"svc__C": 3.0, "standardscaler__with_mean": True}).C == 3.0
    names = found.of_transformers({"svc__C": 3.0, "standardscaler__with_mean": True})
    assert names == {"standardscaler__with_mean": True}


@pytest.mark.parametrize("parameters", [{"max_iter": 5}, {"strategy": "isvm"}])
def test_parameters_that_cannot_be_shared(parameters):
    with pytest.raises(CannotShare):
        Machine.of(ws.SVC()).candidate(parameters)


def test_every_candidate_is_found_in_every_fold():
    parts = []
    found = plan(ws.SVC(), [{"C": 1.0}, {"C": 2.0}], tell=parts.append)
    found.run()
    assert set(found.found) == {(k, f) for k in range(2) for f in range(3)}
    assert found.complete == [True, True]
    assert parts[-1] == 1.0
    assert (found.violation <= ws.SVC().tol).all()
    assert (found.seconds > 0).all()


@pytest.mark.parametrize("classes", [2, 3])
def test_progress_is_told_after_each_problem(classes):
    """Also within one gamma, whose candidates are scored when all of them are solved."""
    parts = []
    X, y = data("svc" if classes == 2 else "svc" + OF_THREE)
    model, candidates = ws.SVC(n_jobs=2), [{"C": 2.0**k} for k in range(4)]
    svm, splits = Machine.of(model), folds_of(model, X, y)
    settings = model._settings()
    found = Plan(svm, X, y, None, candidates, splits, False, Budget(), settings, tell=parts.append)
    found.run()
    problems = 4 * 3 * (1 if classes == 2 else 3)
    assert parts == sorted(parts)
    np.testing.assert_allclose(np.unique(np.round(parts, 9)) * problems, range(1, problems + 1))
    assert parts[-1] == 1.0


def test_transformers_that_fail():
    X, _ = data("svc")
    model = make_pipeline(StandardScaler(), ws.SVC())
    found = plan(model, [{"svc__C": 1.0}, {"standardscaler__with_mean": "perhaps"}])
    found.X = X.astype(object)
    found.X[0, 0] = "no number"
    found.run()
    assert sum(isinstance(one, ValueError) for one in found.found.values()) >= 4


@pytest.mark.parametrize("gamma", ["scale", 0.5])
@pytest.mark.parametrize("prefix", ["", "svc__"])
def test_with_a_limit_on_the_time_a_quarter_of_the_candidates_is_completed_first(prefix, gamma):
    svm, complete = ws.SVC(gamma=gamma), []
    model = make_pipeline(StandardScaler(), svm) if prefix else svm
    candidates = [{f"{prefix}C": 2.0**k} for k in range(8)]
    found = plan(model, candidates, Budget(1000.0))
    found.tell = lambda part: complete.append(sum(found.complete))
    found.run()
    calls = 2 * 2 * 3  # of two candidates in three folds: solved, then scored
    assert complete[calls - 1 :: calls] == [2, 4, 6, 8]
    expected = plan(model, candidates)
    expected.run()
    assert expected.complete == found.complete


def test_candidates_that_share_transformers_or_a_kernel_are_in_few_batches():
    model = Pipeline([("z", StandardScaler()), ("a", ws.SVC())])
    candidates = [
        {"a__C": C, "a__gamma": gamma, "z__with_mean": mean}
        for C in (1.0, 2.0)
        for gamma in (0.1, 0.2)
        for mean in (False, True)
    ]
    for batch in plan(model, candidates, Budget(1000.0))._batches():
        assert len({(candidates[k]["a__gamma"], candidates[k]["z__with_mean"]) for k in batch}) == 1
    [every] = plan(model, candidates)._batches()
    assert sorted(every) == list(range(8))


def test_transformers_are_fitted_once_for_all_batches():
    model = make_pipeline(FunctionTransformer(calls := Counted()), ws.SVC())
    candidates = [{"svc__C": 2.0**k} for k in range(8)]
    found = plan(model, candidates, Budget(1000.0))
    found.settings = replace(found.settings, threads=1)
    found.run()
    assert calls.number == 2 * 3  # training and test rows of three folds


def test_no_time():
    for model in (ws.SVC(), make_pipeline(StandardScaler(), ws.SVC())):
        with pytest.raises(OutOfBudget):
            plan(model, [{}], Budget(1e-9)).run()


def test_threads_of_pipelines_share_nothing_but_results():
    model = make_pipeline(StandardScaler(), ws.SVC(n_jobs=2))
    found = plan(model, [{"svc__C": C} for C in (1.0, 10.0)])
    found.run()
    assert found.complete == [True, True]
    assert np.isfinite(found.violation).all()


def test_transformed_rows_count_in_the_memory(monkeypatch):
    seen, run = [], Search.run

    def noting(self):
        seen.append(self.settings.max_memory)
        run(self)

    monkeypatch.setattr(Search, "run", noting)
    model = make_pipeline(StandardScaler(), ws.SVC(n_jobs=1, max_memory=10**6))
    plan(model, [{"svc__C": 1.0}]).run()
    X, _ = data("svc")
    assert seen == [10**6 - X.nbytes] * 3


@pytest.mark.parametrize(("kept", "fits"), [(3, 3), (1, 1 + 4 * 2)])
def test_transformed_rows_are_kept_for_other_batches_as_far_as_memory_allows(
    kept, fits, monkeypatch
):
    counted, (X, _), memory = Counted(), data("svc"), 10**8
    monkeypatch.setattr(module, "_KEPT_SHARE", kept * X.nbytes / memory)
    model = make_pipeline(FunctionTransformer(counted), ws.SVC(n_jobs=1, max_memory=memory))
    candidates = [{"svc__C": 1.0, "svc__gamma": gamma} for gamma in (0.1, 0.2, 0.3, 0.4)]
    plan(model, candidates, Budget(1000.0)).run()
    assert counted.number == 2 * fits  # training and test rows


@pytest.mark.parametrize("action", ["keep", "raise"])
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    ("place", "name"),
    [
        (Machine, "of"),
        (Plan, "_transform"),
        (SearchData, "of"),
        (Task, "of"),
        (KernelMatrices, "matrix"),
    ],
)
def test_ctrl_c_during_the_preparation_changes_nothing(place, name, threads, action, monkeypatch):
    """Ctrl-C arrives while rows, transformers, problems or kernel values are prepared."""
    X, y = data("svc")
    model = make_pipeline(StandardScaler(), machine("svc"))
    grid = {"svc__C": [1.0, 2.0]}
    search = GridSearchCV(model, grid, n_jobs=threads, on_interrupt=action).fit(X, y)
    before, original, calls = dict(vars(search)), getattr(place, name), []
    arrived, stop = Event(), Plan._stop

    def interrupted(*given, **options):
        calls.append(given)
        if calls[0] is given:  # one of several threads
            signal.raise_signal(signal.SIGINT)  # in a thread: the main one is told of it
            assert arrived.wait(60)
        return original(*given, **options)

    def stopped(plan):
        arrived.set()
        stop(plan)

    monkeypatch.setattr(place, name, interrupted)
    monkeypatch.setattr(Plan, "_stop", stopped)
    with pytest.raises(KeyboardInterrupt):
        search.fit(X, y)
    assert vars(search) == before


def test_ctrl_c_between_two_kernels_keeps_the_first(monkeypatch):
    X, y = data("svc")
    matrix, calls = KernelMatrices.matrix, []

    def interrupted(*given, **options):
        calls.append(given)
        if len(calls) == 2:
            signal.raise_signal(signal.SIGINT)
        return matrix(*given, **options)

    monkeypatch.setattr(KernelMatrices, "matrix", interrupted)
    grid = {"C": [1.0, 2.0], "gamma": [0.1, 1.0]}
    search = GridSearchCV(machine("svc"), grid, n_jobs=1, on_interrupt="keep")
    with pytest.warns(UserWarning, match="after 2 of 4 candidates"):
        search.fit(X, y)
    assert search.stopped_ == "interrupt"
    assert search.best_params_["gamma"] == 0.1
