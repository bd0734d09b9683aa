"""Problems of candidates in folds."""

from __future__ import annotations

import re

import numpy as np
import pytest

import widestreet as ws
from conftest import OF_THREE, TOL
from support.machines import data
from widestreet._src.kernels.kernels import RBF
from widestreet._src.tuning.tasks import Fold, SearchData, Task

TRAIN, TEST = np.arange(30, 120), np.arange(30)


def test_gamma_is_that_of_the_training_rows():
    X, y = data("svc")
    search = SearchData.of(ws.SVC(), X, y, None)
    kernel = Task.of(ws.SVC(), Fold(search, TRAIN, TEST)).kernel
    assert isinstance(kernel, RBF)
    assert kernel.gamma == pytest.approx(
        ws.SVC().fit(X[TRAIN], y[TRAIN])._gamma, rel=TOL.exact * 100
    )


def test_held_out_rows_have_no_box_and_equal_rows_share_one():
    X, y = data("svc")
    X, y = np.concatenate([X, X]), np.concatenate([y, y])
    search = SearchData.of(ws.SVC(), X, y, None)
    assert len(search.merged.kept) <= 120
    task = Task.of(ws.SVC(C=2.0), Fold(search, np.arange(60, 240), np.arange(60)))
    assert not task.own_box[:60].any()
    assert task.box.sum() == pytest.approx(2.0 * 180)
    assert len(task.box) == len(search.merged.kept)


def test_repeated_training_rows_count_repeatedly():
    X, y = data("svr")
    search = SearchData.of(ws.SVR(), X, y, None)
    weight = Fold(search, np.array([3, 3, 5, 7]), TEST).weight
    assert weight[[3, 5, 7]].tolist() == [2.0, 1.0, 1.0]
    assert weight.sum() == 4.0


def test_classes_of_a_fold():
    X, y = data("svc" + OF_THREE)
    search = SearchData.of(ws.SVC(), X, y, None)
    rows = np.flatnonzero(y != 1)
    task = Task.of(ws.SVC(), Fold(search, rows, TEST))
    assert task.pairs == [(0, 2)]
    assert not task.own_box[y == 1].any()


@pytest.mark.parametrize("model", [ws.SVC(C=-1.0), ws.NuSVC(nu=0.99), ws.SVC(tol=0.0)])
def test_errors_are_those_of_a_fit(model):
    X, y = data("svc")
    y = np.where(np.arange(len(y)) % 4 == 0, 1, -1)
    search = SearchData.of(ws.SVC(), X, y, None)
    with pytest.raises(ValueError, match=r"C|nu|tol") as fit:
        model.fit(X[TRAIN], y[TRAIN])
    with pytest.raises(ValueError, match=re.escape(str(fit.value))):
        Task.of(model, Fold(search, TRAIN, TEST))
