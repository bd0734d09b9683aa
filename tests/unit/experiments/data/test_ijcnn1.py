"""ijcnn1, of a made-up file."""

from __future__ import annotations

from widestreet._experiments.data import ijcnn1
from widestreet._src import environment


def test_the_first_rows_train_and_the_others_test(tmp_path, monkeypatch):
    monkeypatch.setenv(environment.DATA, str(tmp_path))
    monkeypatch.setattr(ijcnn1, "TRAIN_ROWS", 3)
    (tmp_path / "ijcnn1").write_text("".join(f"-1 1:{i} 22:1\n" for i in range(1, 6)))
    split = ijcnn1.load(10)
    assert split.X[:, 0].tolist() == [1, 2, 3]
    assert split.X_test[:, 0].tolist() == [4, 5]
    assert split.X.shape[1] == 22
