"""Fits on rows that stay on disk give the models of rows in memory."""

from __future__ import annotations

import os
import re
import shutil
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
from sklearn.model_selection import cross_val_score, train_test_split

import widestreet as ws
from conftest import TOL
from support.devices import PlainDevice, use
from support.machines import (
    CLASSIFIERS,
    KERNELS,
    any_street,
    assert_same_function,
    assert_same_objective,
    data,
    machine,
)
from support.stored_rows import columns_of, write
from widestreet._src.engines.budget import Budget
from widestreet._src.estimators import stored as module
from widestreet._src.files import plan, scratch
from widestreet._src.shards import survey_with_skipping
from widestreet.datasets import twonorm
from widestreet.online import OnlineSVC
from widestreet.strategies import PRSVM, Auto

pytest.importorskip("pyarrow")


@pytest.fixture
def small_blocks(monkeypatch):
    """Let few rows be too many for memory, in many blocks."""
    monkeypatch.setattr(module, "fits_in_memory", lambda *given: False)
    monkeypatch.setattr(plan, "_LARGEST_BLOCK", 12_000)


@pytest.fixture
def files(tmp_path):
    """Write rows to two files, and open them."""

    def make(X, y=None, weight=None):
        for k, at in enumerate(np.array_split(np.arange(len(X)), 2)):
            part = [None if v is None else np.asarray(v)[at] for v in (X, y, weight)]
            write(tmp_path / f"part{k}.parquet", columns_of(*part))
        names = {} if weight is None else {"weight": "weight"}
        target = None if y is None else "label"
        return ws.open_rows(str(tmp_path / "part*.parquet"), target, dtype="float64", **names)

    return make


# -- the same models -------------------------------------------------------------------------------


@any_street
def test_the_model_is_that_of_rows_in_memory(kind, files, small_blocks):
    X, y = data(kind, 300)
    rows, target = files(X, None if kind == "one_class" else y)
    one, other = machine(kind).fit(rows, target), machine(kind).fit(X, y)
    assert one.certificate_.status == "optimal"
    assert_same_objective(one, other)
    bare = machine(kind).set_params(**one.get_params())
    vars(bare).update({k: v for k, v in vars(one).items() if k != "feature_names_in_"})
    assert_same_function(bare, other, X)
    assert np.array_equal(one.support_vectors_, X[one.support_])
    assert one.shape_fit_ == X.shape
    assert one.feature_names_in_.tolist() == ["x0", "x1", "x2"]
    assert np.array_equal(one.predict(rows), bare.predict(X))


@any_street
def test_weights_from_a_column_or_an_array(kind, files, small_blocks, rng):
    X, y = data(kind, 300)
    weight = rng.choice([0.0, 0.5, 2.0], 300)
    rows, target, weights = files(X, np.zeros(300) if kind == "one_class" else y, weight)
    other = machine(kind).fit(X, y, weight)
    for given in (weights, weight):
        one = machine(kind).fit(rows, target, given)
        assert_same_objective(one, other)
        counts = [[c.n_rows for c in model.certificates_] for model in (one, other)]
        assert counts[0] == counts[1]


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_kernels_and_losses(kernel, loss, files, small_blocks):
    X, y = data("svc", 300)
    rows, target = files(X, y)
    options = KERNELS[kernel] | {"loss": loss, "tol": 1e-8}
    one, other = machine("svc", **options).fit(rows, target), machine("svc", **options).fit(X, y)
    assert one.certificate_.status == other.certificate_.status
    if kernel != "sigmoid":
        assert_same_objective(one, other)
    if kernel == "linear":
        difference = np.abs(one.coef_ - other.coef_).max()
        assert difference <= 1e-5 * np.abs(other.coef_).max()


@pytest.mark.parametrize("gamma", ["scale", "auto"])
def test_gamma_is_that_of_all_rows(gamma, files, small_blocks):
    X, y = data("svc", 300)
    one = machine("svc", gamma=gamma).fit(*files(X, y))
    other = machine("svc", gamma=gamma).fit(X, y)
    assert one._gamma == pytest.approx(other._gamma, rel=1e-12)


def test_labels_of_text_and_weights_of_classes(files, small_blocks):
    X, y = data("svc of three", 300)
    names = np.array(["red", "green", "blue"])[y]
    for weights in ("balanced", {"red": 2.0, "green": 1.0, "blue": 0.5}):
        one = machine("svc of three", class_weight=weights).fit(*files(X, names))
        other = machine("svc of three", class_weight=weights).fit(X, names)
        assert one.classes_.tolist() == ["blue", "green", "red"]
        assert one.class_weight_ == pytest.approx(other.class_weight_, rel=1e-12)
        assert_same_objective(one, other)


def test_sorted_labels_in_separate_files(files, small_blocks):
    X, y = data("svc", 300)
    order = np.argsort(y, kind="stable")
    one, other = machine("svc").fit(*files(X[order], y[order])), machine("svc").fit(X, y)
    assert_same_objective(one, other)


@pytest.mark.parametrize("strategy", ["smo", "isvm", "randsvm", PRSVM(sites=2)])
def test_other_strategies(strategy, files, small_blocks):
    X, y = data("svc", 300)
    one = machine("svc", strategy=strategy, tol=1e-3).fit(*files(X, y))
    assert one.certificate_.status == "optimal"


def test_a_memory_map_beyond_the_limit_is_read_in_parts(tmp_path, monkeypatch):
    monkeypatch.setattr(plan, "_LEAST_REST", 1 << 16)
    monkeypatch.setattr(plan, "_LEAST_BLOCK", 1 << 14)
    X, y = twonorm(600, 100, random_state=0)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    calls = []
    spooled = module.spooled

    def counted(*given, **options):
        calls.append(1)
        return spooled(*given, **options)

    monkeypatch.setattr(module, "spooled", counted)
    options = {"C": 1.0, "gamma": 0.01, "tol": 1e-4}
    one = machine("svc", **options, max_memory=mapped.nbytes - 1).fit(mapped, y)
    other = machine("svc", **options).fit(mapped, y)
    assert len(calls) == 1
    values = [model.certificate_.dual_objective for model in (one, other)]
    assert values[0] == pytest.approx(values[1], rel=TOL.strategies_rel)
    assert np.array_equal(one.support_vectors_, X[one.support_])


def test_few_rows_are_read_into_memory(files, monkeypatch):
    X, y = data("svc")
    rows, target = files(X, y)
    monkeypatch.setattr(module, "spooled", None)
    one, other = machine("svc").fit(rows, target), machine("svc").fit(X, y)
    assert np.array_equal(one.dual_coef_, other.dual_coef_)
    assert one.feature_names_in_.tolist() == ["x0", "x1", "x2"]
    assert np.array_equal(one.decision_function(rows), other.decision_function(X))
    assert one.score(rows, target) == other.score(X, y)


# -- limits ----------------------------------------------------------------------------------------


def test_a_limit_of_time_ends_with_a_model(files, small_blocks, monkeypatch):
    X, y = data("svc")
    rows, target = files(X, y)
    budgets, spooled = [], module.spooled

    def budget(seconds):
        budgets.append(Budget(seconds))
        return budgets[-1]

    def late(*given, **options):
        found = spooled(*given, **options)
        budgets[0]._begun -= 1000.0
        return found

    monkeypatch.setattr(module, "Budget", budget)
    monkeypatch.setattr(module, "spooled", late)
    with pytest.warns(UserWarning, match="time"):
        model = ws.SVC(max_time=1000.0).fit(rows, target)
    assert model.certificate_.status == "time_limit"
    assert model.predict(rows).shape == (120,)


def test_a_limit_of_time_that_does_not_suffice_to_read(files, small_blocks):
    X, y = data("svc")
    rows, target = files(X, y)
    with pytest.raises(TimeoutError, match=r"max_time=1e-09 s were over before all rows were read"):
        ws.SVC(max_time=1e-9).fit(rows, target)


def test_a_map_is_read_in_parts_if_the_fit_in_memory_would_not_fit(tmp_path):
    np.save(tmp_path / "X.npy", np.zeros((60_000, 2), dtype=np.float32))
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    for memory, stored in ((10_000_000, True), (100_000_000, False)):
        settings = ws.SVC(max_memory=memory)._settings()
        assert module.is_stored(ws.SVC(), mapped, settings) is stored


@pytest.mark.parametrize("options", [{"kernel": "precomputed"}, {"warm_start": True}])
def test_maps_that_need_random_access_are_used_where_they_lie(tmp_path, options):
    X, _ = data("svc")
    np.save(tmp_path / "K.npy", X @ X.T)
    mapped = np.load(tmp_path / "K.npy", mmap_mode="r")
    settings = ws.SVC(max_memory=mapped.nbytes - 1)._settings()
    assert module.is_stored(ws.SVC(), mapped, settings)
    assert not module.is_stored(ws.SVC(**options), mapped, settings)


@pytest.mark.parametrize("on_interrupt", ["raise", "keep"])
def test_an_interrupt_leaves_a_model(files, small_blocks, on_interrupt, monkeypatch):
    X, y = twonorm(500, random_state=0)
    rows, target = files(X, y)
    survey, calls = survey_with_skipping.survey, []

    def interrupted(*given, **options):
        calls.append(1)
        if len(calls) == 25:
            raise KeyboardInterrupt
        return survey(*given, **options)

    interrupted.__qualname__ = survey.__qualname__
    monkeypatch.setattr(survey_with_skipping, "survey", interrupted)
    model = ws.SVC(gamma=0.05, on_interrupt=on_interrupt, random_state=0, strategy=Auto(32))
    expected = pytest.raises(KeyboardInterrupt) if on_interrupt == "raise" else nullcontext()
    with pytest.warns(UserWarning, match="interrupted"), expected:
        model.fit(rows, target)
    assert model.certificate_.status == "interrupted"
    assert np.array_equal(model.support_vectors_, X[model.support_])


def test_memory_that_is_too_small_is_refused(files, monkeypatch):
    X, y = data("svc")
    rows, target = files(X, y)
    with pytest.raises(ValueError, match=r"max_memory=1,000 bytes is too small: 120 stored rows"):
        ws.SVC(max_memory=1000).fit(rows, target)


def test_a_full_disk_names_scratch(files, small_blocks, tmp_path, monkeypatch):
    X, y = data("svc")
    rows, target = files(X, y)
    usage = shutil.disk_usage(tmp_path)._replace(free=100)
    monkeypatch.setattr(scratch.shutil, "disk_usage", lambda path: usage)
    with pytest.raises(OSError, match=r"has 100 bytes free, .* scratch="):
        ws.SVC(scratch=tmp_path).fit(rows, target)


def test_nothing_is_left_in_scratch(files, small_blocks, tmp_path):
    X, y = data("svc")
    rows, target = files(X, y)
    folder = tmp_path / "scratch"
    folder.mkdir()
    machine("svc", scratch=folder).fit(rows, target)
    assert list(folder.iterdir()) == []


# -- refusals --------------------------------------------------------------------------------------


@pytest.mark.parametrize("fits", [False, True])
@pytest.mark.parametrize(("value", "what"), [(np.nan, "NaN"), (np.inf, "infinity")])
def test_invalid_values_are_named_with_their_file(value, what, fits, files, monkeypatch):
    monkeypatch.setattr(module, "fits_in_memory", lambda *given: fits)
    X, y = data("svc")
    bad = X.copy()
    bad[70, 1] = value
    model = ws.SVC().fit(*files(X, y))
    rows, target = files(bad, y)
    message = rf"X contains {what} in column 'x1', row 10 of .*part1.parquet: "
    with pytest.raises(ValueError, match=message):
        ws.SVC().fit(rows, target)
    for predict in (model.predict, model.decision_function):
        with pytest.raises(ValueError, match=message):
            predict(rows)


@pytest.mark.parametrize("fits", [False, True])
def test_a_negative_weight_is_named_with_its_file(fits, files, monkeypatch):
    monkeypatch.setattr(module, "fits_in_memory", lambda *given: fits)
    X, y = data("svc")
    given = files(X, y, np.where(np.arange(120) == 61, -1.0, 1.0))
    message = r"sample_weight must not be negative, but it is in row 1 of .*part1.parquet"
    with pytest.raises(ValueError, match=message):
        ws.SVC().fit(*given)


@pytest.mark.parametrize("fits", [False, True])
def test_missing_labels_and_targets_are_named_with_their_file(fits, files, monkeypatch):
    monkeypatch.setattr(module, "fits_in_memory", lambda *given: fits)
    X, y = data("svr")
    y = np.where(np.arange(120) == 61, np.nan, np.round(y))
    rows, target = files(X, y)
    with pytest.raises(ValueError, match=r"y contains NaN in row 1 of .*part1.parquet"):
        ws.SVR().fit(rows, target)
    with pytest.raises(ValueError, match=r"y contains a missing label .* row 1 of .*part1.parquet"):
        ws.SVC().fit(rows, target)


def test_targets_that_are_no_numbers_or_missing_are_named(files, small_blocks):
    X, y = data("svc")
    with pytest.raises(ValueError, match="y contains text such as 'a'"):
        ws.SVR().fit(*files(X, np.where(y == y[0], "a", "b")))
    rows, _ = files(X, y)
    for model in (ws.SVC(), ws.SVR()):
        with pytest.raises(ValueError, match="requires y to be passed"):
            model.fit(rows, None)


@pytest.mark.parametrize("fits", [False, True])
def test_files_without_rows_are_refused(fits, files, monkeypatch):
    monkeypatch.setattr(module, "fits_in_memory", lambda *given: fits)
    X, y = data("svc")
    with pytest.raises(ValueError, match="X has no rows: <0 rows"):
        ws.SVC().fit(*files(X[:0], y[:0]))


def test_labels_that_are_no_classes(files, small_blocks, monkeypatch):
    X, y = data("svr")
    with pytest.raises(ValueError, match=r"y: .*continuous") as here:
        ws.SVC().fit(X, y)
    given = files(X, y)
    with monkeypatch.context() as patch:
        patch.setattr(module.Census, "of", None)  # before any class is counted
        with pytest.raises(ValueError, match=re.escape(str(here.value))):
            ws.SVC().fit(*given)
    with pytest.raises(ValueError, match=r"y: .*same class.*1 class, 7"):
        ws.SVC().fit(*files(X, np.full(120, 7)))


@pytest.mark.parametrize("change", ["before", "during"])
def test_a_file_that_changes_ends_the_fit(change, files, small_blocks, monkeypatch):
    X, y = data("svc")
    rows, target = files(X, y)
    path = rows.table.paths[1]
    if change == "before":
        os.utime(path, ns=(0, 0))
    else:
        batches = rows.table.kind.batches

        def touched(one, columns, size):
            yield from batches(one, columns, size)
            os.utime(path, ns=(0, 0))

        monkeypatch.setattr(type(rows.table.kind), "batches", staticmethod(touched))
    with pytest.raises(RuntimeError, match=r"part1.parquet has changed since it was opened"):
        ws.SVC().fit(rows, target)


def test_parameters_that_need_all_rows(files, small_blocks, monkeypatch):
    X, y = data("svc")
    rows, target = files(X, y)
    with pytest.raises(TypeError, match=r"X: kernel='precomputed' needs the kernel matrix"):
        ws.SVC(kernel="precomputed").fit(rows, target)
    with pytest.raises(ValueError, match="warm_start must be False"):
        ws.SVC(warm_start=True).fit(rows, target)
    use(monkeypatch, PlainDevice())
    with pytest.raises(ValueError, match="device='cuda' does not serve rows that do not fit"):
        ws.SVC(device="cuda").fit(rows, target)
    with pytest.raises(ValueError, match=r"y must have shape \(120,\)"):
        ws.SVC().fit(rows, y[:5])
    other, label = files(X, y)
    with pytest.raises(ValueError, match="X and y must be opened by one call of open_rows"):
        ws.SVC().fit(rows, label)
    assert machine("svc").fit(other, np.asarray(label)).certificate_.status == "optimal"


def test_estimators_that_need_all_rows_say_so(files):
    X, y = data("svc")
    rows, target = files(X, y)
    message = r"X was opened by open_rows.* needs all rows in memory: pass X\.to_numpy\(\)"
    for fit in (
        ws.EnsembleSVC().fit,
        OnlineSVC().partial_fit,
        OnlineSVC().fit,
        lambda *given: ws.regularization_path(*given, C_min=1.0, C_max=2.0),
        lambda *given: ws.leave_one_out(ws.SVC(), *given),
    ):
        with pytest.raises(TypeError, match=message):
            fit(rows, target)


def test_leave_one_out_does_not_name_its_online_estimator(files):
    with pytest.raises(TypeError, match=r"^X was opened .*, but leave_one_out needs all rows"):
        ws.leave_one_out(ws.SVC(), *files(*data("svc")))


def test_rows_that_are_drawn_one_by_one_are_refused_with_a_remedy(files):
    rows, target = files(*data("svc"))
    message = r"X was opened by open_rows: .* X\.to_numpy\(\) .* hold out some of the files"
    for draw in (
        lambda: cross_val_score(ws.SVC(), rows, target, error_score="raise"),
        lambda: train_test_split(rows, target),
        lambda: rows[:3],
        lambda: np.asarray(rows),
    ):
        with pytest.raises(TypeError, match=message):
            draw()


def test_columns_of_predictions_must_be_those_of_training(files, tmp_path, small_blocks):
    X, y = data("svc")
    model = machine("svc").fit(*files(X, y))
    rows, _ = ws.open_rows(str(tmp_path / "part*.parquet"), "label", columns=["x1", "x0", "x2"])
    with pytest.raises(
        ValueError, match=r"X has the columns .*'x1', 'x0'.* pass these as columns="
    ):
        model.predict(rows)


@pytest.mark.parametrize("kind", ["svr", "one_class", *CLASSIFIERS])
def test_predictions_of_stored_rows_are_those_of_rows_in_memory(kind, files):
    X, y = data(kind)
    model = machine(kind).fit(X, y)
    rows, _ = files(X)
    for name in ("predict", "decision_function", "score_samples"):
        if hasattr(model, name):
            method = getattr(model, name)
            assert np.array_equal(method(rows), method(X))


def test_scratch_must_be_a_directory(files, small_blocks):
    X, y = data("svc")
    with pytest.raises(FileNotFoundError, match="scratch must be an existing directory"):
        ws.SVC(scratch=Path("/no/such/directory")).fit(*files(X, y))
