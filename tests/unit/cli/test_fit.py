"""The command that trains."""

from __future__ import annotations

import signal
import sys
import warnings
from argparse import Namespace
from functools import partial, partialmethod

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file

import widestreet as ws
from conftest import TOL
from support.machines import assert_same_function, data
from support.tables import people
from widestreet._src.engines.working_set import small as whole
from widestreet._src.tuning.plan import Plan
from widestreet.cli import main
from widestreet.cli.models import load_model


@pytest.fixture
def folder(tmp_path, monkeypatch):
    people().to_csv(tmp_path / "train.csv", index=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def loaded(path):
    return load_model(Namespace(model=path, C=1.0, nu=0.5, epsilon=0.1))


def columns(frame):
    return frame[["age", "income", "city"]].assign(smoker=frame["smoker"].astype(float))


TIGHT = ["--set", f"tol={TOL.twins}"]
LABELS = ["--target", "label", "--drop", "risk", "--drop", "w"]


def test_classes(folder, capsys):
    pytest.importorskip("skops")
    assert main(["fit", "train.csv", *LABELS, *TIGHT, "-C", "3", "--gamma", "0.2"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("optimal: 120 rows examined")
    assert "120 rows, 4 columns: SVC" in err
    model = loaded(folder / "model.skops")
    X = model[:-1].transform(columns(people()))
    expected = ws.SVC(C=3.0, gamma=0.2, tol=TOL.twins).fit(X, people()["label"])
    assert_same_function(model[-1], expected, X)
    assert model[-1].get_params() == expected.get_params()


def test_a_model_takes_the_table_in_python(folder):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("skops")
    assert main(["fit", "train.csv", *LABELS, "--quiet"]) == 0
    model, frame = loaded(folder / "model.skops"), pandas.read_csv("train.csv")
    names = list(model.feature_names_in_)
    np.testing.assert_array_equal(
        model.decision_function(frame[names]), model.decision_function(columns(people())[names])
    )


def test_targets_and_weights(folder, capsys):
    pytest.importorskip("skops")
    given = ["--target", "risk", "--drop", "label", "--weight", "w", "--epsilon", "0.2"]
    assert main(["fit", "train.csv", *given, *TIGHT, "-C", "1", "--quiet"]) == 0
    assert capsys.readouterr().err == ""
    model, frame = loaded(folder / "model.skops"), people()
    assert isinstance(model[-1], ws.SVR)
    X = model[:-1].transform(columns(frame))
    expected = ws.SVR(epsilon=0.2, tol=TOL.twins).fit(X, frame["risk"], frame["w"])
    assert_same_function(model[-1], expected, X)


@pytest.mark.parametrize("estimator", ["svr", "nusvr"])
def test_a_regression_has_the_units_of_its_target(tmp_path, estimator):
    """With C = 1, a model of prices in thousands would be nearly constant."""
    X, y = data("regression")
    models = []
    for k, unit in enumerate((1.0, 1e5)):
        np.save(tmp_path / "rows.npy", np.column_stack([X, unit * y]))
        given = [str(tmp_path / "rows.npy"), "--target", "-1", "--preprocess", "none", "--quiet"]
        path = tmp_path / f"{k}.street"
        given += ["--estimator", estimator, "--set", f"tol={unit * TOL.twins}", "-o", str(path)]
        assert main(["fit", *given]) == 0
        models.append(loaded(path))
    small, large = models
    np.testing.assert_allclose([small.C, large.C], [np.std(y), 1e5 * np.std(y)], rtol=0.01)
    np.testing.assert_allclose(
        large.predict(X), 1e5 * small.predict(X), atol=1e5 * TOL.decision * np.ptp(y)
    )


def test_given_parameters_of_a_regression_are_kept(tmp_path):
    X, y = data("regression")
    np.save(tmp_path / "rows.npy", np.column_stack([X, 1e3 * y]))
    given = [str(tmp_path / "rows.npy"), "--target", "-1", "--preprocess", "none", "--quiet"]
    options = ["--set", "C=2", "--epsilon", "3", "-o", str(tmp_path / "m.street")]
    assert main(["fit", *given, *options]) == 0
    model = loaded(tmp_path / "m.street")
    assert (model.C, model.epsilon) == (2, 3.0)


@pytest.mark.parametrize("value", [0.1, 0.5, 1.1])
def test_a_constant_target_has_no_unit(tmp_path, value):
    np.save(tmp_path / "rows.npy", np.column_stack([np.arange(7.0), np.full(7, value)]))
    given = [str(tmp_path / "rows.npy"), "--target", "-1", "-o", str(tmp_path / "m.street")]
    assert main(["fit", *given, "--preprocess", "none", "--quiet"]) == 0
    assert loaded(tmp_path / "m.street").C == 1.0


def test_the_unit_of_a_target_is_weighted(tmp_path):
    X, y = data("regression")
    weight = 1.0 + np.arange(len(y)) % 2
    weight[0], y[0] = 0.0, 1e6
    np.save(tmp_path / "rows.npy", np.column_stack([X, weight, y]))
    given = [str(tmp_path / "rows.npy"), "--target", "-1", "--weight", str(X.shape[1])]
    options = ["--preprocess", "none", "--quiet", "-o", str(tmp_path / "m.street")]
    assert main(["fit", *given, *options]) == 0
    repeated = np.repeat(y, weight.astype(int))
    model = loaded(tmp_path / "m.street")
    np.testing.assert_allclose(model.C, np.std(repeated), rtol=0.01)
    np.testing.assert_allclose(model.epsilon, 0.1 * np.std(repeated), rtol=0.01)


def test_no_target_is_one_class(folder):
    pytest.importorskip("skops")
    drop = [word for name in ("label", "risk", "w") for word in ("--drop", name)]
    assert main(["fit", "train.csv", *drop, "--nu", "0.2", "-o", "usual.skops"]) == 0
    assert isinstance(loaded(folder / "usual.skops")[-1], ws.OneClassSVM)


def test_tuning_with_probabilities(folder, capsys):
    pytest.importorskip("skops")
    assert main(["fit", "train.csv", *LABELS, "--tune", "--probabilities", "--seed", "0"]) == 0
    model = loaded(folder / "model.skops")
    assert isinstance(model[-1], ws.CalibratedSVC)
    chosen = ws.SVCCV(random_state=0).fit(
        model[:-1].transform(columns(people())), people()["label"]
    )
    assert model[-1].estimator_.C == chosen.C_
    assert model.predict_proba(columns(people())).shape == (120, 2)
    capsys.readouterr()
    assert main(["fit", "train.csv", *LABELS, "--tune", "-C", "1", "-o", "other.skops"]) == 2
    assert "-C: it is chosen by --tune" in capsys.readouterr().err


def test_a_model_without_preprocessing(tmp_path, capsys):
    X, y = data("svc")
    np.save(tmp_path / "rows.npy", np.column_stack([X, y]))
    given = [str(tmp_path / "rows.npy"), "--target", "-1", "-o", str(tmp_path / "m.street")]
    assert main(["fit", *given]) == 2
    assert "--preprocess none" in capsys.readouterr().err
    assert main(["fit", *given, "--preprocess", "none", "--set", "tol=1e-4"]) == 0
    model = ws.load(tmp_path / "m.street")
    assert model.tol == 1e-4
    assert model.certificate_.status == "optimal"


def test_text_of_libsvm(tmp_path):
    pytest.importorskip("skops")
    X, y = data("svc")
    dump_svmlight_file(X, y, str(tmp_path / "rows.txt"), zero_based=False)
    assert main(["fit", str(tmp_path / "rows.txt"), "-o", str(tmp_path / "m.skops")]) == 0
    assert loaded(tmp_path / "m.skops").n_features_in_ == 3


def test_a_model_that_is_not_optimal_ends_with_status_1(tmp_path, capsys):
    X, y = data("svc")
    np.save(tmp_path / "rows.npy", np.column_stack([X, y]))
    given = ["--target", "3", "-o", str(tmp_path / "m.street"), "--preprocess", "none"]
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        limits = ["-C", "1000", "--set", "max_iter=1"]
        assert main(["fit", str(tmp_path / "rows.npy"), *given, *limits]) == 1
    out, err = capsys.readouterr()
    assert out.startswith("iteration_limit")
    assert "widestreet: warning: training stopped" in err


def test_the_code_is_printed(folder, capsys):
    pytest.importorskip("skops")
    assert main(["fit", "train.csv", *LABELS, *TIGHT, "--python", "--quiet"]) == 0
    code = capsys.readouterr().out.partition("\n\n")[2]
    known: dict[str, object] = {}
    exec(code, known)
    frame, model = people(), loaded(folder / "model.skops")
    made = known["model"].fit(columns(frame), frame["label"])
    assert_same_function(made, model, columns(frame))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--nu", "0.5"], "--nu: svc has no such parameter"),
        (["--estimator", "nusvc", "--tune"], "--tune"),
        (["--estimator", "svr", "--probabilities"], "--probabilities"),
        (["-o", "m.pickle"], "the ending must be one of"),
        (["-o", "no/such/m.skops"], "there is no directory"),
        (["-C", "-1"], "C must be"),
        (["--set", "colour=red"], "--colour"),
    ],
)
def test_what_is_wrong_ends_with_status_2(folder, capsys, given, message):
    assert main(["fit", "train.csv", *LABELS, *given]) == 2
    assert message in capsys.readouterr().err


@pytest.fixture
def untrained(monkeypatch):
    """Make every training that is not that of a row per class fail."""

    def small_only(fit, self, X, *given, **named):
        assert len(X) <= 2, "the model was trained"
        return fit(self, X, *given, **named)

    for kind in (ws.SVC, ws.EnsembleSVC, ws.SVCCV, ws.CalibratedSVC):
        monkeypatch.setattr(kind, "fit", partialmethod(partial(small_only, kind.fit)))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["-o", "m.onnx", "--probabilities"], "holds no probabilities"),
        (["-o", "m.onnx", "--probabilities", "--tune"], "holds no probabilities"),
        (["-o", "m.model", "--preprocess", "none", "--probabilities"], "holds no probabilities"),
        (["-o", "m.model", "--preprocess", "none"], "labels of LIBSVM are integers"),
        (["-o", "m.model", "--preprocess", "none", "--tune"], "labels of LIBSVM are integers"),
        (["-o", "m.model", "--preprocess", "none", "--kernel", "laplacian"], "LIBSVM has only"),
        (["-o", "m.model", "--preprocess", "none", "--estimator", "ensemble"], "EnsembleSVC"),
        (["-o", "m.street"], "holds one estimator"),
        (["-o", "folder.skops"], "is a directory"),
    ],
)
def test_what_the_file_cannot_hold_is_refused_before_the_training(
    folder, capsys, untrained, given, message
):
    (folder / "folder.skops").mkdir()
    drop = [*LABELS, "--drop", "city", "--drop", "smoker"]
    assert main(["fit", "train.csv", *drop, *given]) == 2
    assert message in capsys.readouterr().err
    assert not list(folder.glob("m.*"))


@pytest.mark.parametrize(
    ("ending", "package"), [("skops", "skops.io"), ("onnx", "onnx"), ("onnx", "skl2onnx")]
)
def test_missing_packages_are_named_before_the_training(
    folder, capsys, untrained, monkeypatch, ending, package
):
    pytest.importorskip(package)
    monkeypatch.setitem(sys.modules, package, None)
    assert main(["fit", "train.csv", *LABELS, "-o", f"m.{ending}"]) == 2
    assert "pip install" in capsys.readouterr().err


@pytest.mark.parametrize("ending", ["skops", "onnx", "street", "model"])
@pytest.mark.parametrize("estimator", ["svc", "nusvc", "svr", "nusvr", "oneclass", "ensemble"])
def test_all_formats_hold_all_estimators_that_are_not_refused(tmp_path, estimator, ending):
    pytest.importorskip({"skops": "skops", "onnx": "onnx"}.get(ending, "widestreet"))
    X, y = data("svc")
    np.save(tmp_path / "rows.npy", np.column_stack([X, y]))
    target = [] if estimator == "oneclass" else ["--target", "-1"]
    given = [*target, "--estimator", estimator, "--preprocess", "none"]
    path = tmp_path / f"m.{ending}"
    status = main(["fit", str(tmp_path / "rows.npy"), *given, "-o", str(path)])
    assert status == (2 if (estimator, ending) == ("ensemble", "model") else 0)
    assert path.exists() == (status == 0)


def test_a_missing_label_is_reported_by_the_column_of_the_target(folder, capsys):
    text = (folder / "train.csv").read_text().replace(",high,", ",,", 1)
    (folder / "train.csv").write_text(text)
    assert main(["fit", "train.csv", *LABELS]) == 2
    assert "y contains missing labels" in capsys.readouterr().err


def test_an_estimator_without_its_target(folder, capsys):
    assert main(["fit", "train.csv", "--estimator", "svc"]) == 2
    assert "--estimator svc needs --target" in capsys.readouterr().err


def test_only_a_file_that_is_named_is_replaced(folder, capsys):
    pytest.importorskip("skops")
    (folder / "model.skops").write_text("old")
    assert main(["fit", "train.csv", *LABELS, "--quiet"]) == 2
    assert "-o model.skops" in capsys.readouterr().err
    assert (folder / "model.skops").read_text() == "old"
    assert main(["fit", "train.csv", *LABELS, "--quiet", "-o", "model.skops"]) == 0
    assert isinstance(loaded(folder / "model.skops")[-1], ws.SVC)


def test_a_parameter_without_a_value(folder, capsys):
    with pytest.raises(SystemExit):
        main(["fit", "train.csv", "--set", "C"])
    assert "NAME=VALUE" in capsys.readouterr().err


# -- Ctrl-C ------------------------------------------------------------------------------------


@pytest.mark.whole
def test_an_interrupt_leaves_a_model(tmp_path, capfd, monkeypatch):
    X, y = data("svc")
    np.save(tmp_path / "rows.npy", np.column_stack([X, y]))
    handlers, solve, calls = [], whole.solve, []

    def interrupted(*arguments, **options):
        calls.append(arguments)
        if len(calls) == 1:  # the small model that tries the file
            return solve(*arguments, **options)
        try:
            signal.raise_signal(signal.SIGINT)
        finally:
            handlers.append(signal.getsignal(signal.SIGINT))

    monkeypatch.setattr(whole, "solve", interrupted)
    given = ["--target", "-1", "--preprocess", "none", "-o", str(tmp_path / "m.street")]
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        assert main(["fit", str(tmp_path / "rows.npy"), *given]) == 130
    out, err = capfd.readouterr()
    assert out.startswith("interrupted")
    assert "m.street; its certificate: interrupted" in err
    assert handlers == [signal.SIG_DFL]  # the second one ends the process
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    model = ws.load(tmp_path / "m.street")
    assert model.certificate_.status == "interrupted"
    assert model.on_interrupt == "raise"


def test_an_interrupted_search_leaves_the_best_model_so_far(folder, capfd, monkeypatch):
    pytest.importorskip("skops")
    run, calls = Plan.run, []

    def stopping(self):
        calls.append(self)
        if len(calls) == 2:
            signal.raise_signal(signal.SIGINT)
        run(self)

    monkeypatch.setattr(Plan, "run", stopping)
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        given = [*LABELS, "--tune", "--probabilities", "--seed", "0"]
        assert main(["fit", "train.csv", *given]) == 130
    err = capfd.readouterr().err
    assert "Ctrl-C ended the search after" in err
    assert "the model has no probabilities" in err
    model = loaded(folder / "model.skops")
    assert isinstance(model[-1], ws.SVC)
    assert model[-1].certificate_.status == "optimal"


def test_without_a_model_an_interrupt_leaves_no_file(folder, capfd, monkeypatch):
    monkeypatch.setattr(Plan, "run", lambda self: signal.raise_signal(signal.SIGINT))
    assert main(["fit", "train.csv", *LABELS, "--tune"]) == 130
    assert not (folder / "model.skops").exists()
