"""Searches in rounds: which candidates are dropped, when, and on how many rows."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import t as student
from sklearn.metrics import accuracy_score
from sklearn.model_selection import KFold, LeaveOneOut, ParameterGrid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import widestreet as ws
from support.cross_validation import folds_of
from support.machines import data, machine
from widestreet._src.engines.budget import Budget
from widestreet._src.tuning import rounds as module
from widestreet._src.tuning.plan import Machine, Plan
from widestreet._src.tuning.rounds import Rounds
from widestreet.datasets import checkerboard
from widestreet.model_selection import GridSearchCV

GRID = {"C": [1e-4, 1.0, 100.0], "gamma": [0.001, 0.5, 2.0]}


def made(score, racing=False, halving=None, folds=9, grid=GRID):
    X, y = checkerboard(240, random_state=0)
    model = ws.SVC()
    of = Machine.of(model)
    splits = folds_of(model, X, y, folds)
    candidates = list(ParameterGrid(grid))
    plan = Plan(of, X, y, None, candidates, splits, False, Budget(), model._settings())
    return Rounds(plan, score, racing, halving)


def by_number(values):
    """Scores of candidates that are told apart by their place in the whole plan."""

    def score(part):
        at = [list(ParameterGrid(GRID)).index(one) for one in part.candidates]
        return np.array(values)[at][:, None] + 0.001 * (np.arange(len(part.splits)) % 2)

    return score


def raced(factors, folds=9):
    """Run a race: differences to the first candidate are multiples of the threshold of the test.

    They vary in the first three folds, and are zero in the others. A factor of None stands for
    equal differences in all folds.
    """
    grid = {"C": [1.0 + k for k in range(len(factors) + 1)]}
    found = made(None, racing=True, folds=folds, grid=grid)
    first = found.plan.splits[:3]
    ratio = sum(len(test) for _, test in first) / sum(len(train) for train, _ in first)
    threshold = student.ppf(0.99, 2) * 0.01 * np.sqrt(1 / 3 + ratio)
    lost = np.zeros((len(grid["C"]), folds))
    for k, factor in enumerate(factors, start=1):
        if factor is None:
            lost[k] = 0.5
        else:
            lost[k, :3] = factor * threshold + 0.01 * np.array([-1.0, 0.0, 1.0])

    def score(part):
        at = [grid["C"].index(one["C"]) for one in part.candidates]
        return 0.9 - lost[at, : len(part.splits)]

    found.score = score
    found.run()
    return found


def test_candidates_beyond_the_threshold_run_in_three_folds_only():
    found = raced([1.01, 0.99, 1.01, 0.99])
    kept = np.array([True, False, True, False, True])
    figures = found.figures
    np.testing.assert_array_equal(figures["dropped"], ~kept)
    np.testing.assert_array_equal(figures["n_folds"], np.where(kept, 9, 3))
    assert (figures["n_rows"] == 240).all()
    assert set(found.plan.found) == {(k, f) for k in range(5) for f in range(9) if kept[k] or f < 3}


def test_equal_differences_are_no_evidence():
    assert raced([None, 1.01]).figures["dropped"].tolist() == [False, False, True]


def test_the_first_test_has_30_test_rows():
    groups = list(made(None, racing=True, folds=60)._groups_of_folds())  # of 4 rows each
    assert groups[:2] == [slice(0, 8), slice(8, 16)]
    assert groups[-1].stop == 60


def test_leave_one_out_is_raced_to_the_choice_of_the_whole_search(rng):
    """The first three rows are all outliers of one class."""
    centres = [-3.0] * 3 + [3.0] * 32 + [-3.0] * 25
    X = rng.normal(np.array(centres)[:, None], 0.3, (60, 2))
    y = np.where(np.arange(60) < 35, 1, -1)
    for racing in (False, True):
        search = GridSearchCV(
            ws.SVC(gamma=0.1), {"C": [1e-6, 1.0]}, cv=LeaveOneOut(), racing=racing
        )
        assert search.fit(X, y).best_params_ == {"C": 1.0}


def test_candidates_that_differ_by_noise_stay(rng):
    noise = 0.1 * rng.standard_normal((9, 9))
    found = made(lambda part: noise[:, : len(part.splits)], racing=True)
    found.run()
    assert not found.figures["dropped"].any()


def test_halving_evaluates_a_third_on_three_times_as_many_rows(monkeypatch):
    monkeypatch.setattr(module, "_LEAST_ROWS", 20)
    values = [0.1, 0.2, 0.9, 0.3, 0.8, 0.4, 0.5, 0.6, 0.7]
    found = made(by_number(values), halving=3, folds=3)
    found.run()
    rows = dict.fromkeys(range(9), 27) | {4: 80, 8: 80} | {2: 240}
    assert found.n_rows.tolist() == [rows[k] for k in range(9)]
    assert found.figures["dropped"].tolist() == [k != 2 for k in range(9)]
    np.testing.assert_allclose(found.last_score, np.array(values), atol=0.001)
    assert set(found.plan.found) == {(2, f) for f in range(3)}


def test_halving_compares_folds_in_which_all_candidates_have_a_score(monkeypatch):
    monkeypatch.setattr(module, "_LEAST_ROWS", 20)
    values = [0.1, 0.2, 0.9, 0.3, 0.8, 0.4, 0.5, 0.6, 0.7]
    none = np.nan
    lost = {0: [none] * 3, 1: [none, none, 9.0]}  # candidate 0 has no score, 1 only in fold 2
    plain = by_number(values)

    def score(part):
        found = plain(part)
        if len(part.candidates) > 1:
            at = [list(ParameterGrid(GRID)).index(one) for one in part.candidates]
            found += np.array([lost.get(k, [none, 0.0, 0.0]) for k in at])
        return found

    found = made(score, halving=3, folds=3)
    found.run()
    rows = dict.fromkeys(range(9), 27) | {2: 80, 4: 80} | {1: 240}
    assert found.n_rows.tolist() == [rows[k] for k in range(9)]
    expected = np.array([none, *values[1:]])
    np.testing.assert_allclose(found.last_score, expected, atol=0.001)


def test_halving_without_a_common_fold_warns_and_drops_nothing(monkeypatch):
    monkeypatch.setattr(module, "_LEAST_ROWS", 100)
    both = np.array([[0.9, np.nan], [np.nan, 0.5]])
    for scores in (both, np.full((2, 2), np.nan)):
        grid = {"C": [1.0, 2.0]}
        found = made(lambda part, scores=scores: scores, halving=2, folds=2, grid=grid)
        with pytest.warns(UserWarning, match="drops no candidate on 120 rows") as said:
            found.run()
        assert len(said) == 1
        assert not found.figures["dropped"].any()


def test_halving_drops_candidates_though_folds_of_a_round_are_empty(rng):
    X = rng.standard_normal((900, 2))
    y = np.where(X[:, 0] > 0, 1, -1)
    search = GridSearchCV(ws.SVC(), {"C": [0.1, 1, 10]}, cv=KFold(200), halving=3, refit=False)
    with pytest.warns(UserWarning, match="Scoring failed"):  # of scikit-learn
        search.fit(X, y)
    assert search.cv_results_["dropped"].sum() == 2


def test_rows_of_rounds_are_nested_and_stratified():
    found = made(None, halving=2)
    y = found.plan.y
    small, large = (found._part_of_rows([0], rows) for rows in (60, 120))
    assert {row.tobytes() for row in small.X} <= {row.tobytes() for row in large.X}
    for part in (small, large):
        assert abs((part.y == 1).mean() - (y == 1).mean()) < 0.02
        assert part.sample_weight.sum() == pytest.approx(len(y))
        for train, test in part.splits:
            assert len(np.intersect1d(train, test)) == 0
            assert len(train) + len(test) == len(part.y)


def test_few_rows_or_candidates_are_not_halved():
    assert made(None, halving=3)._sizes() == []
    assert made(None, halving=3, grid={"C": [1.0, 2.0]})._sizes() == []


@pytest.mark.parametrize("kind", ["svc", "pipeline", "precomputed", "svr"])
def test_the_choice_is_that_of_the_whole_search_and_the_results_say_what_was_dropped(
    kind, monkeypatch
):
    monkeypatch.setattr(module, "_LEAST_ROWS", 60)
    X, y = checkerboard(500, random_state=0) if kind != "svr" else data("svr", 500)
    model, grid = ws.SVC(), GRID
    if kind == "pipeline":
        model = make_pipeline(StandardScaler(), ws.SVC())
        grid = {f"svc__{name}": values for name, values in GRID.items()}
    elif kind == "precomputed":
        model, grid = machine("svc", kernel="precomputed", tol=1e-3), {"C": [1e-6, 1e-3, 1.0]}
        X = np.exp(-2.0 * np.square(X[:, None] - X).sum(axis=2))
    elif kind == "svr":
        model, grid = ws.SVR(gamma=0.5), {"C": [1e-4, 1e-2, 1.0]}
    whole = GridSearchCV(model, grid, cv=5).fit(X, y)
    for options in ({"racing": True}, {"halving": 3}, {"racing": True, "halving": 2}):
        found = GridSearchCV(model, grid, cv=5, **options).fit(X, y)
        assert found.shared_
        assert found.best_params_ == whole.best_params_
        results = found.cv_results_
        kept = ~results["dropped"]
        assert not kept.all()
        assert kept[found.best_index_]
        np.testing.assert_array_equal(np.isnan(results["mean_test_score"]), ~kept)
        difference = results["mean_test_score"] - whole.cv_results_["mean_test_score"]
        assert np.nanmax(np.abs(difference)) <= 0.01  # a row of each fold: starts differ
        np.testing.assert_array_equal(results["last_score"][kept], results["mean_test_score"][kept])
        assert np.isfinite(results["last_score"]).all()
        assert (results["n_rows"][kept] == 500).all()


def test_weights_and_several_scorers(monkeypatch, rng):
    monkeypatch.setattr(module, "_LEAST_ROWS", 60)
    X, y = checkerboard(500, random_state=0)
    weight = rng.integers(1, 3, len(y)).astype(np.float64)
    options = {"scoring": ["accuracy", "roc_auc"], "refit": "roc_auc", "halving": 3}
    found = GridSearchCV(ws.SVC(), GRID, **options).fit(X, y, sample_weight=weight)
    whole = GridSearchCV(ws.SVC(), GRID, scoring="roc_auc").fit(X, y, sample_weight=weight)
    assert found.best_params_ == whole.best_params_
    with pytest.raises(ValueError, match="compare candidates by one score"):
        GridSearchCV(ws.SVC(), GRID, scoring=["accuracy"], refit=False, racing=True).fit(X, y)


def plain(model, X, y):
    return accuracy_score(y, model.predict(X))


def test_what_cannot_be_shared_is_not_raced():
    X, y = data("svc")
    search = GridSearchCV(ws.SVC(), {"C": [1.0]}, scoring=plain, racing=True, halving=3)
    with pytest.warns(UserWarning, match="no effect") as said:
        search.fit(X, y)
    assert {str(one.message).split()[0] for one in said} == {"racing", "halving"}
    for wrong in ({"racing": 1}, {"halving": 1}, {"halving": 2.5}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            GridSearchCV(ws.SVC(), {"C": [1.0]}, **wrong).fit(X, y)


def test_an_error_of_a_candidate_is_raised_if_that_is_wanted(monkeypatch):
    monkeypatch.setattr(module, "_LEAST_ROWS", 20)
    X, y = data("nu_svc")
    y = np.where(np.arange(len(y)) % 4 == 0, 1, -1)
    search = GridSearchCV(
        machine("nu_svc"), {"nu": [0.1, 0.2, 0.3, 0.999]}, racing=True, error_score="raise"
    )
    with pytest.raises(ValueError, match="nu"):
        search.fit(X, y)
