"""The command that certifies a saved model."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import widestreet as ws
from support.machines import data
from widestreet.cli import main


@pytest.fixture
def saved(tmp_path):
    X, y = data("svc")
    model = ws.SVC(gamma=0.5).fit(X, y)
    model.save(tmp_path / "m.street")
    np.save(tmp_path / "rows.npy", np.column_stack([X, y]))
    dump_svmlight_file(X, y, str(tmp_path / "rows.txt"), zero_based=False)
    return tmp_path


def verify(folder, data, *options) -> int:
    return main(["verify", str(folder / "m.street"), str(folder / data), *options])


def test_an_optimal_model(saved, capsys):
    assert verify(saved, "rows.npy", "--target", "3") == 0
    assert capsys.readouterr().out.startswith("optimal: 120 rows examined")
    assert verify(saved, "rows.txt") == 0


def test_a_model_that_is_not_as_exact(saved, capsys):
    assert verify(saved, "rows.npy", "--target", "3", "--tol", "1e-300") == 1
    assert capsys.readouterr().out.startswith("stalled: ")


def test_several_classes_have_a_line_each(tmp_path, capsys):
    X, y = data("svc of three")
    ws.SVC().fit(X, y).save(tmp_path / "m.street")
    np.save(tmp_path / "rows.npy", np.column_stack([X, y]))
    assert verify(tmp_path, "rows.npy", "--target", "3") == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in lines] == [
        "0 against 1",
        "0 against 2",
        "1 against 2",
    ]


def test_named_columns_and_weights(tmp_path, capsys):
    pytest.importorskip("pyarrow")
    pandas = pytest.importorskip("pandas")
    X, y = data("svr")
    weight = np.arange(len(y)) % 3 + 1.0
    frame = pandas.DataFrame(X, columns=["a", "b", "c"])
    ws.SVR().fit(frame, y, weight).save(tmp_path / "m.street")
    frame.assign(y=y, w=weight).to_parquet(tmp_path / "rows.parquet")
    assert verify(tmp_path, "rows.parquet", "--target", "y", "--weight", "w") == 0
    frame.assign(y=y).rename(columns={"a": "z"}).to_parquet(tmp_path / "other.parquet")
    assert verify(tmp_path, "other.parquet", "--target", "y") == 2
    assert "columns" in capsys.readouterr().err


def test_a_model_of_libsvm(saved, capsys):
    X, y = data("svc")
    X = np.column_stack([X, np.zeros(len(y))])  # a column that no support vector has
    np.save(saved / "wide.npy", np.column_stack([X, y]))
    dump_svmlight_file(X, y, str(saved / "wide.txt"), zero_based=False)
    ws.io.to_libsvm(ws.SVC(gamma=0.5, C=3.0).fit(X, y), saved / "m.street")
    assert verify(saved, "wide.npy", "--target", "4", "-C", "3") == 0
    assert verify(saved, "wide.txt", "-C", "3") == 0
    capsys.readouterr()
    assert verify(saved, "wide.txt", "-C", "1") == 1
    assert "are C, nu and the weights those of the fit?" in capsys.readouterr().out
    assert main(["verify", str(saved / "nothing"), str(saved / "wide.txt")]) == 2


def test_what_is_wrong_ends_with_status_2(saved, capsys):
    assert verify(saved, "nothing.npy", "--target", "3") == 2
    assert verify(saved, "rows.txt", "--weight", "w") == 2
    assert "--weight" in capsys.readouterr().err
    (saved / "m.street").write_bytes(b"PK nothing")
    assert verify(saved, "rows.npy", "--target", "3") == 2
    assert "m.street" in capsys.readouterr().err


def test_the_last_column_and_none(saved, capsys):
    assert verify(saved, "rows.npy", "--target", "-1") == 0
    assert verify(saved, "rows.npy") == 2
    assert "--target is missing" in capsys.readouterr().err


def test_a_compact_model_is_not_optimal(saved, capsys):
    ws.load(saved / "m.street").compact(0.5).save(saved / "m.street")
    assert verify(saved, "rows.npy", "--target", "3") == 1
    assert capsys.readouterr().out.startswith("approximate: ")


@pytest.mark.parametrize("wrap", [ws.CalibratedSVC, None])
def test_the_svm_in_a_wrapper_and_in_a_pipeline(tmp_path, capsys, wrap):
    pandas, skops = pytest.importorskip("pandas"), pytest.importorskip("skops.io")
    X, y = data("svc")
    frame = pandas.DataFrame(X, columns=["a", "b", "c"])
    frame.assign(y=y).to_csv(tmp_path / "rows.csv", index=False)
    model = ws.SVC() if wrap is None else wrap(ws.SVC())
    skops.dump(make_pipeline(StandardScaler(), model).fit(frame, y), tmp_path / "m.street")
    assert verify(tmp_path, "rows.csv", "--target", "y") == 0
    assert capsys.readouterr().out.startswith("optimal: 120 rows examined")
    assert verify(tmp_path, "rows.csv") == 2


@pytest.mark.filterwarnings("ignore:the best value of")
def test_the_svm_that_a_search_has_chosen(saved, capsys):
    X, y = data("svc")
    ws.SVCCV(Cs=[1.0, 2.0], gammas=[0.5]).fit(X, y).save(saved / "m.street")
    assert verify(saved, "rows.npy", "--target", "3") == 0
