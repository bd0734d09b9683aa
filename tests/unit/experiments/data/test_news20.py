"""News groups, of a made-up file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from widestreet._experiments.data import news20
from widestreet._src import environment


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """A data directory, and no data but what a test writes."""
    monkeypatch.setenv(environment.DATA, str(tmp_path))
    monkeypatch.delenv(environment.DOWNLOAD, raising=False)
    (tmp_path / "deep").mkdir()
    return tmp_path


def test_news20_rows_have_length_one(folder, monkeypatch):
    (folder / "news20").write_text("".join(f"{i % 3} {i + 1}:3 7:4\n" for i in range(6)))
    monkeypatch.setattr(news20, "HELD_OUT", 2)
    split = news20.load(100)
    assert split.X.shape == (4, 62_061)
    assert np.allclose(split.X.multiply(split.X).sum(axis=1), 1)
