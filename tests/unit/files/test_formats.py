"""Readers of single formats; the rows they read are tested with opening."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from support.stored_rows import FORMATS, columns_of, write
from widestreet._src.files import formats

pytest.importorskip("pyarrow")


@pytest.mark.parametrize("suffix", FORMATS)
def test_batches_of_a_format_have_all_rows(tmp_path, suffix, monkeypatch):
    monkeypatch.setattr(formats, "_TRANSPOSED_ROWS", 7)
    X = np.arange(3000.0).reshape(1000, 3)
    path = write(tmp_path / f"rows.{suffix}", columns_of(X))
    kind = formats.format_of(path)
    names = tuple(kind.kinds(path))
    assert kind.count(path) == 1000
    batches = [X for X, _, _ in kind.batches(path, formats.Columns(names, dtype="float64"), 100)]
    assert np.array_equal(np.concatenate(batches), X)
    assert max(map(len, batches)) == 100


def test_without_pyarrow_the_error_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(ImportError, match=r'pip install "widestreet\[files\]"'):
        formats.format_of(Path("rows.parquet")).kinds(Path("rows.parquet"))


@pytest.mark.parametrize(
    ("line", "match"),
    [
        ("1,2,two", "column 'label' contains 'two', but its first rows contain whole numbers: let"),
        ("1,2,1.5", "column 'label' contains '1.5', but its first rows contain whole numbers"),
        ("1,two,1", "column 'b' contains 'two', but its first rows contain numbers"),
        ("1,2", "Expected 3 columns, got 2"),
    ],
)
def test_a_column_of_text_and_numbers_is_named(tmp_path, monkeypatch, line, match):
    """The type of a column is that of its first block."""
    monkeypatch.setattr(formats, "_CSV_BLOCK_BYTES", 100)
    path = tmp_path / "rows.csv"
    path.write_text("\n".join(["a,b,label", *["1,2,1"] * 200, line]))
    for features in (("a", "b"), ("b",)):
        batches = formats.format_of(path).batches(path, formats.Columns(features, "label"))
        with pytest.raises(ValueError, match=match):
            list(batches)
