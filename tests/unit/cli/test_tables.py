"""Rows from files of all formats."""

from __future__ import annotations

import io
import sys

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file

from support.tables import people
from widestreet.cli.tables import column, pandas, read_rows


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "tsv", "parquet", "feather"])
def test_tables_with_names(tmp_path, ending):
    if ending in ("parquet", "feather"):
        pytest.importorskip("pyarrow")
    frame, path = people(30), tmp_path / f"rows.{ending}"
    if ending == "parquet":
        frame.to_parquet(path)
    elif ending == "feather":
        frame.to_feather(path)
    else:
        frame.to_csv(path, index=False, sep="\t" if ending == "tsv" else ",")
    rows = read_rows(str(path), "label", "w", drop=["risk"])
    assert list(rows.X.columns) == ["age", "income", "city", "smoker"]
    assert rows.X["smoker"].dtype == np.float64
    assert rows.y.tolist() == frame["label"].tolist()
    np.testing.assert_array_equal(rows.weight, frame["w"])
    np.testing.assert_allclose(rows.X["age"], frame["age"])


def test_text_categories_and_truth_values_with_missing_ones(tmp_path):
    pytest.importorskip("pyarrow")
    frame = people(20)
    frame["kind"] = frame["city"].astype("category")
    frame["maybe"] = [True, None] * 10
    frame.to_parquet(tmp_path / "rows.parquet")
    X = read_rows(str(tmp_path / "rows.parquet")).X
    assert X["maybe"].tolist()[0] == "True"
    for name in ("city", "kind", "maybe"):
        np.testing.assert_array_equal(X[name].isna(), frame[name].isna())
        assert all(isinstance(value, str) for value in X[name].dropna())


def test_columns_of_a_model_in_its_order(tmp_path):
    people(10).to_csv(tmp_path / "rows.csv", index=False)
    rows = read_rows(str(tmp_path / "rows.csv"), features=["income", "age"])
    assert list(rows.X.columns) == ["income", "age"]
    with pytest.raises(ValueError, match="no column 'height', which the model was trained on"):
        read_rows(str(tmp_path / "rows.csv"), features=["income", "height"])


def test_the_standard_input(monkeypatch):
    text = people(10).to_csv(index=False)
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))
    assert len(read_rows("-", "label").X) == 10


def test_arrays(tmp_path):
    values = np.arange(20.0).reshape(4, 5)
    np.save(tmp_path / "rows.npy", values)
    rows = read_rows(str(tmp_path / "rows.npy"), "-1", "0", drop=["2"])
    np.testing.assert_array_equal(rows.X, values[:, [1, 3]])
    np.testing.assert_array_equal(rows.y, values[:, 4])
    np.testing.assert_array_equal(rows.weight, values[:, 0])
    for wrong in ("5", "name"):
        with pytest.raises(ValueError, match="count from 0"):
            read_rows(str(tmp_path / "rows.npy"), wrong)
    np.save(tmp_path / "flat.npy", np.zeros(3))
    with pytest.raises(ValueError, match="rows and columns"):
        read_rows(str(tmp_path / "flat.npy"))


def test_text_of_libsvm(tmp_path):
    X, y = np.array([[0.0, 1.0], [2.0, 0.0]]), np.array([1.0, -1.0])
    dump_svmlight_file(X, y, str(tmp_path / "rows.txt"), zero_based=False)
    rows = read_rows(str(tmp_path / "rows.txt"), width=4)
    assert rows.X.shape == (2, 4)
    np.testing.assert_array_equal(rows.y, y)
    for given in ({"target": "y"}, {"weight": "w"}, {"drop": ["a"]}):
        with pytest.raises(ValueError, match="LIBSVM"):
            read_rows(str(tmp_path / "rows.txt"), **given)


def test_what_is_missing_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nothing\.csv"):
        read_rows(str(tmp_path / "nothing.csv"))
    people(10).to_csv(tmp_path / "rows.csv", index=False)
    with pytest.raises(ValueError, match=r"--target: .* has no column 'y'; it has 'age'"):
        read_rows(str(tmp_path / "rows.csv"), "y")
    with pytest.raises(ValueError, match="--drop"):
        read_rows(str(tmp_path / "rows.csv"), drop=["z"])
    with pytest.raises(ValueError, match=r"'age,city'.*give each column its own --drop"):
        read_rows(str(tmp_path / "rows.csv"), drop=["age,city"])
    with pytest.raises(ValueError, match=r"rows\.csv has no columns 'y', 'z', .* trained on"):
        read_rows(str(tmp_path / "rows.csv"), features=["age", "y", "z"])


@pytest.mark.parametrize("text", ["", "a,b\n"])
def test_files_without_rows_are_named(tmp_path, text):
    (tmp_path / "rows.csv").write_text(text)
    with pytest.raises(ValueError, match=r"rows\.csv has no rows"):
        read_rows(str(tmp_path / "rows.csv"))


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ValueError, match=r"widestreet\[cli\]"):
        pandas("reading")


def test_names_and_numbers_of_columns():
    assert [column(text) for text in ("3", "-1", "a", None)] == [3, -1, "a", None]
