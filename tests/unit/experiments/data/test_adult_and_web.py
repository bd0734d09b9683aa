"""The census and web sets, of made-up files."""

from __future__ import annotations

import numpy as np

from widestreet._experiments.data import adult_and_web
from widestreet._src import environment


def test_sparse_and_dense_rows_are_the_same(tmp_path, monkeypatch):
    monkeypatch.setenv(environment.DATA, str(tmp_path))
    (tmp_path / "a9a").write_text("+1 1:1 3:1\n-1 2:1\n-1 3:1\n")
    (tmp_path / "a9a.t").write_text("-1 1:1\n+1 2:1\n")
    thin, thick = (adult_and_web.load("a9a", 123, dense, 10) for dense in (False, True))
    assert thin.X.shape == (3, 123)
    assert np.array_equal(thin.X.toarray(), thick.X)
    assert np.array_equal(thin.X_test.toarray(), thick.X_test)
    assert thick.y.tolist() == [1, -1, -1]
    assert thick.y_test.tolist() == [-1, 1]
