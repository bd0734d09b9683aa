"""KDD99, of made-up files."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from widestreet._experiments.data import kdd99
from widestreet._src import environment


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """A data directory, and no data but what a test writes."""
    monkeypatch.setenv(environment.DATA, str(tmp_path))
    monkeypatch.delenv(environment.DOWNLOAD, raising=False)
    (tmp_path / "deep").mkdir()
    return tmp_path


def test_kdd99_is_coded(folder):
    line = "{},{},http,SF," + ",".join(["0"] * 37) + ",{}.\n"
    with gzip.open(folder / "kddcup.data_10_percent.gz", "wt") as file:
        file.write(line.format(0, "tcp", "normal") + line.format(4, "udp", "smurf"))
    (folder / "corrected").write_text(line.format(2, "icmp", "normal"))
    split = kdd99.load(10)
    assert split.X.shape == (2, 38 + 2 + 1 + 1)
    assert split.y.tolist() == [1, -1]
    assert split.X[:, 0].tolist() == [0, 1]
    assert split.X[:, 1:3].tolist() == [[1, 0], [0, 1]]
    assert split.X_test[0, :3].tolist() == [0.5, 0, 0]  # a protocol that training never saw
