"""Files that are found and checked before a row is read."""

from __future__ import annotations

import numpy as np
import pytest

import widestreet as ws
from support.stored_rows import FORMATS, columns_of, write

pytest.importorskip("pyarrow")
X = np.random.default_rng(0).normal(size=(1500, 3))
Y = np.where(X[:, 0] > 0, 1, -1)


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rows_and_targets_of_every_format(tmp_path, suffix, dtype):
    path = write(tmp_path / f"rows.{suffix}", columns_of(X, Y))
    stored, y = ws.open_rows(path, target=3 if suffix == "npy" else "label", dtype=dtype)
    assert stored.shape == X.shape
    assert stored.dtype == dtype
    assert len(y) == len(stored) == 1500
    assert stored.feature_names == (None if suffix == "npy" else ["x0", "x1", "x2"])
    assert stored.to_numpy().dtype == dtype
    assert np.array_equal(stored.to_numpy(), X.astype(dtype))
    assert np.array_equal(np.asarray(y), Y)
    assert f"rows.{suffix}" in repr(stored)
    assert "1,500 rows of 3" in repr(stored)


def test_columns_of_arrays_may_be_counted_from_the_last_one(tmp_path):
    path = write(tmp_path / "rows.npy", columns_of(X, Y, np.abs(X[:, 1])))
    stored, y, weight = ws.open_rows(path, target=-2, weight=-1, dtype="float64")
    assert np.array_equal(stored.to_numpy(), X)
    assert np.array_equal(y.to_numpy(), Y)
    assert np.array_equal(weight.to_numpy(), np.abs(X[:, 1]))
    with pytest.raises(ValueError, match=r"target: .*rows.npy has no column -6; it has 0, 1, 2"):
        ws.open_rows(path, target=-6)
    path = write(tmp_path / "rows.parquet", columns_of(X, Y))
    with pytest.raises(ValueError, match=r"target: .*rows.parquet has no column -1; it has 'x0'"):
        ws.open_rows(path, target=-1)


def test_files_of_a_pattern_are_read_in_order_of_their_names(tmp_path):
    for k in (2, 0, 1):
        part = slice(500 * k, 500 * (k + 1))
        write(tmp_path / f"part{k}.parquet", columns_of(X[part], Y[part]))
    for path in (
        str(tmp_path / "*.parquet"),
        tmp_path,
        [tmp_path / f"part{k}.parquet" for k in range(3)],
    ):
        stored, y = ws.open_rows(path, target="label", dtype="float64")
        assert np.array_equal(stored.to_numpy(), X)
        assert np.array_equal(y.to_numpy(), Y)
    assert "and 1 more" in repr(stored)
    assert "'label'" in repr(y)


def test_columns_are_chosen_by_name_and_need_no_order(tmp_path):
    first, second = columns_of(X[:700], Y[:700]), columns_of(X[700:], Y[700:])
    write(tmp_path / "a.parquet", first)
    write(tmp_path / "b.parquet", dict(reversed(second.items())))
    stored, y = ws.open_rows(tmp_path, "label", columns=["x2", "x0"], dtype="float64")
    assert np.array_equal(stored.to_numpy(), X[:, [2, 0]])
    assert np.array_equal(y.to_numpy(), Y)
    assert stored.feature_names == ["x2", "x0"]


def test_weights_are_a_third_value(tmp_path):
    path = write(tmp_path / "rows.parquet", columns_of(X, Y, np.abs(X[:, 1])))
    stored, y, weight = ws.open_rows(path, "label", weight="weight")
    assert stored.shape == (1500, 3)
    assert np.array_equal(np.asarray(weight), np.abs(X[:, 1]))
    assert np.array_equal(np.asarray(y), Y)


def test_without_a_target_there_is_no_y(tmp_path):
    stored, y = ws.open_rows(write(tmp_path / "rows.parquet", columns_of(X)))
    assert y is None
    assert stored.shape == X.shape


def test_labels_of_text_booleans_and_categories(tmp_path):
    pa = pytest.importorskip("pyarrow")
    words = np.where(Y > 0, "yes", "no")
    for values in (words, pa.array(words).dictionary_encode(), Y > 0):
        _, y = ws.open_rows(write(tmp_path / "r.parquet", {"x": X[:, 0], "y": values}), "y")
        assert np.array_equal(np.asarray(y), np.asarray(values))


def test_booleans_integers_and_missing_values_are_numbers(tmp_path):
    columns = {"a": [True, False, None], "b": [1, None, 2**40], "c": [0.5, None, 1e300]}
    stored, _ = ws.open_rows(write(tmp_path / "r.parquet", columns))
    with np.errstate(over="ignore"):
        wanted = np.array([[1, 1, 0.5], [0, np.nan, np.nan], [np.nan, 2**40, 1e300]], np.float32)
    assert np.array_equal(stored.to_numpy(), wanted, equal_nan=True)


def test_fractions_may_come_late_in_a_text_file(tmp_path):
    lines = ["a,b"] + ["1,2"] * 400_000 + ["1.5,2"]
    (tmp_path / "r.csv").write_text("\n".join(lines))
    stored, _ = ws.open_rows(tmp_path / "r.csv")
    assert stored.shape == (400_001, 2)
    assert stored.to_numpy()[-1].tolist() == [1.5, 2.0]


def test_the_whole_is_not_read_by_accident(tmp_path):
    stored, _ = ws.open_rows(write(tmp_path / "rows.parquet", columns_of(X)))
    with pytest.raises(TypeError, match=r"Pass X\.to_numpy"):
        np.asarray(stored)


# -- what cannot be opened -------------------------------------------------------------------------


def test_no_file_matches(tmp_path):
    with pytest.raises(FileNotFoundError, match="no file matches"):
        ws.open_rows(tmp_path / "*.parquet")
    with pytest.raises(FileNotFoundError, match="no file matches"):
        ws.open_rows(tmp_path)
    with pytest.raises(ValueError, match="is empty"):
        ws.open_rows([])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target": "lable"}, "target: .*rows.parquet has no column 'lable'; it has 'x0', 'x1'"),
        ({"columns": ["x7"]}, "columns: .*rows.parquet has no column 'x7'"),
        ({"columns": ["x1", "x1"]}, "named twice"),
        ({"columns": ["label"], "target": "label"}, "neither the target nor the weight"),
        ({"weight": "w"}, "weight: .* has no column 'w'"),
        ({}, "column 'word' of .*rows.parquet contains text: leave it out with columns="),
        ({"columns": ["x0", "day"]}, "column 'day' of .*rows.parquet contains dates or times"),
        ({"columns": ["x0"], "target": "day"}, "target: column 'day' .* contains dates"),
        ({"columns": ["x0"], "weight": "word"}, "weight: column 'word' .* contains text"),
        ({"columns": []}, "no column that is not the target"),
        ({"dtype": "float16"}, "dtype must be 'float32' or 'float64'"),
    ],
)
def test_columns_that_cannot_be_read(tmp_path, options, message):
    more = {"word": np.where(Y > 0, "yes", "no"), "day": np.full(1500, "2026-01-01", "M8[D]")}
    path = write(tmp_path / "rows.parquet", columns_of(X, Y) | more)
    with pytest.raises(ValueError, match=message):
        ws.open_rows(path, **options)


@pytest.mark.parametrize(
    ("second", "message"),
    [
        ({"x0": X[:, 0], "x1": X[:, 1]}, "b.parquet has no column 'x2', but .*a.parquet has it"),
        (columns_of(X) | {"more": Y}, "b.parquet has a column 'more', but .*a.parquet has none"),
        (columns_of(X) | {"x2": ["a"] * 1500}, "column 'x2' contains text in .*b.parquet"),
    ],
)
def test_files_whose_columns_differ(tmp_path, second, message):
    write(tmp_path / "a.parquet", columns_of(X))
    write(tmp_path / "b.parquet", second)
    with pytest.raises(ValueError, match=message):
        ws.open_rows(tmp_path)


def test_formats_that_are_unknown_mixed_or_broken(tmp_path):
    (tmp_path / "rows.txt").write_text("1 2 3")
    with pytest.raises(ValueError, match="none of the known suffixes"):
        ws.open_rows(tmp_path / "rows.txt")
    for suffix in ("parquet", "feather", "npy"):
        (tmp_path / f"bad.{suffix}").write_text("1 2 3")
        with pytest.raises(ValueError, match=rf"bad.{suffix}"):
            ws.open_rows(tmp_path / f"bad.{suffix}")
    np.save(tmp_path / "vector.npy", Y)
    with pytest.raises(ValueError, match="not of rows"):
        ws.open_rows(tmp_path / "vector.npy")
    write(tmp_path / "good.csv", columns_of(X))
    write(tmp_path / "good.parquet", columns_of(X))
    with pytest.raises(ValueError, match="different formats"):
        ws.open_rows(str(tmp_path / "good.*"))


def test_empty_fields_of_text_are_missing_labels(tmp_path):
    (tmp_path / "rows.csv").write_text("a,label\n1,red\n2,\n3,blue\n4,NA\n")
    _, y = ws.open_rows(tmp_path / "rows.csv", "label")
    assert y.to_numpy().tolist() == ["red", None, "blue", None]
    with pytest.raises(ValueError, match="missing label"):
        ws.SVC().fit(*ws.open_rows(tmp_path / "rows.csv", "label"))


def test_an_index_that_pandas_wrote_is_no_feature(tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "label": [0, 1, 0]}, index=[7, 3, 5])
    frame.to_parquet(tmp_path / "rows.parquet")
    X, _ = ws.open_rows(tmp_path / "rows.parquet", "label")
    assert X.feature_names == ["a"]


def test_rows_of_a_file_that_changed_are_not_read(tmp_path):
    np.save(tmp_path / "rows.npy", np.eye(3))
    X, _ = ws.open_rows(tmp_path / "rows.npy")
    assert len(list(X)) == 1
    np.save(tmp_path / "rows.npy", np.eye(4))
    with pytest.raises(RuntimeError, match="has changed since it was opened"):
        list(X)
