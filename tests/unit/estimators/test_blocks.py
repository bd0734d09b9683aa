"""Fits on blocks: the form of the rows, the classes, and the fitted attributes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import widestreet as ws
from conftest import TOL
from support.blocks import task
from widestreet._src.engines.budget import Budget
from widestreet._src.estimators.blocks import BlockFit, Classes, no_rows
from widestreet._src.estimators.scoring import dense_coef
from widestreet._src.kernels.kernels import RBF, Linear, Poly
from widestreet._src.rows.census import Census
from widestreet.datasets import friedman, twonorm

N = 300


@pytest.mark.parametrize("form", [np.asarray, np.float32, sparse.csr_matrix])
def test_rows_of_a_census_have_the_form_of_rows_in_memory(form, rng):
    X = form(rng.normal(size=(40, 3)) + 5.0)
    formulation = ws.SVC()._formulation()
    none = no_rows(Census.of(X), RBF(1.0), formulation)
    assert none.shape == (0, 3)
    assert none.data.dtype == X.dtype
    assert none.sparse == sparse.issparse(X)
    assert (none.centre is None) == sparse.issparse(X)
    assert no_rows(Census.of(X), Poly(1.0, 0.0, 2), formulation).centre is None
    assert no_rows(Census.of(X), Linear(), ws.OneClassSVM()._formulation()).centre is None


def test_rows_with_many_zeros_are_not_centred(rng):
    X = np.where(rng.random((50, 8)) < 0.1, 1.0, 0.0)
    none = no_rows(Census.of(X), RBF(1.0), ws.SVC()._formulation())
    assert none.centre is None
    assert none.few_nonzeros


def test_classes_have_names_and_weights():
    y = np.array(["a", "b", "c", "a"])
    model = ws.SVC(class_weight={"a": 2.0, "b": 1.0, "c": 1.0})
    classes = Classes.of(model, Census.of(np.zeros((4, 1)), y), model._formulation())
    assert classes.pairs == ["a against b", "a against c", "b against c"]
    assert classes.weight.tolist() == [2.0, 1.0, 1.0]


@pytest.mark.parametrize("name", ["SVC", "NuSVC", "SVR", "OneClassSVM"])
def test_the_attributes_are_those_of_a_fit_in_memory(name):
    X, y = friedman(N, random_state=0) if name == "SVR" else twonorm(N, random_state=0)
    parameters = {"gamma": 0.05, "tol": 1e-5, "gap_tol": None, "random_state": 0}
    model, near = (getattr(ws, name)(**parameters) for _ in range(2))
    near.fit(X, y)
    census = Census.of(X, y, labels=name.endswith("C"))
    settings, formulation = model._settings(), model._formulation()
    classes = Classes.of(model, census, formulation) if name.endswith("SVC") else None
    target = np.zeros(N) if name == "OneClassSVM" else y
    if classes is not None:
        target = np.searchsorted(classes.labels.classes, y)
    job = task(
        RBF(0.05),
        formulation,
        X,
        target,
        class_weight=None if classes is None else classes.weight,
        cuts=[100, 180],
    )
    seen = {"n_features_in_": X.shape[1]}
    given = (X, y, None)
    BlockFit(given, census, seen, settings, formulation, Budget(), classes).train(model, job)
    assert vars(model).keys() == vars(near).keys()
    assert model.shape_fit_ == near.shape_fit_
    assert model.certificate_.status == "optimal"
    assert np.array_equal(X[model.support_], model.support_vectors_)
    assert model.n_support_.sum() == len(model.support_)
    scale = max(1.0, np.abs(dense_coef(near.dual_coef_)).sum())
    assert np.abs(model.predict(X) - near.predict(X)).max() <= np.sqrt(TOL.violation) * scale
