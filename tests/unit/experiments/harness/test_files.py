"""Files of real data."""

from __future__ import annotations

import lzma
from pathlib import Path

import numpy as np
import pytest

from widestreet._experiments.harness import files
from widestreet._src import environment


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """A data directory, and no data but what a test writes."""
    monkeypatch.setenv(environment.DATA, str(tmp_path))
    monkeypatch.delenv(environment.DOWNLOAD, raising=False)
    (tmp_path / "deep").mkdir()
    return tmp_path


def test_files_are_found_packed_or_not(folder):
    (folder / "one").write_text("1 1:0.5\n")
    with lzma.open(folder / "deep" / "two.xz", "wt") as file:
        file.write("-1 3:2\n1 1:1\n")
    for name, y in (("one", [1]), ("two", [-1, 1])):
        X, found = files.svmlight(name, 3)
        assert X.shape == (len(y), 3)
        assert found.tolist() == y
        assert X.indices.dtype == np.int32
    assert files.find("three") is None
    assert files.present(["one", "two"], fetched=False) is None
    assert "three" in files.present(["one", "three"], fetched=False)
    assert "--download" in files.present(["three"], fetched=True)
