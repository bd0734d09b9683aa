"""Models of scikit-learn made ours, and ours made models of scikit-learn."""

from __future__ import annotations

import copy
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn import svm

import widestreet as ws
from conftest import KINDS, TOL
from support.fitted_models import fitted, names
from support.fitting import decision
from support.machines import MACHINES, data
from widestreet.io import from_sklearn, to_sklearn

SHARED = ("linear", "rbf", "poly", "sigmoid", "precomputed")
CONVERTIBLE = [
    name for name in names() if name.split("/")[1] in SHARED and not name.startswith("ensemble")
]


def assert_close(one, other, X) -> None:
    scale = max(1.0, float(np.abs(decision(other, X)).max()))
    np.testing.assert_allclose(decision(one, X), decision(other, X), rtol=0, atol=TOL.twin * scale)


def test_there_and_back():
    for name in CONVERTIBLE:
        model, X, _, new = fitted(name)
        there = to_sklearn(model)
        assert type(there).__module__.startswith("sklearn"), name
        back = from_sklearn(there)
        assert type(back) is type(model), name
        for rows in (X, new):
            assert_close(there, model, rows)
            assert_close(back, model, rows)
        assert np.array_equal(back.support_, model.support_), name
        assert np.array_equal(back.n_support_, model.n_support_), name


@pytest.mark.parametrize("form", ["dense", "csr"])
@pytest.mark.parametrize("kind", KINDS)
def test_their_models_predict_as_ours(kind, form):
    X, y = data(kind)
    make, own = MACHINES[kind.removesuffix(" of three")]
    rows = sparse.csr_matrix(X) if form == "csr" else X
    model = getattr(svm, make.__name__)(**own).fit(rows, y)
    other = from_sklearn(model)
    assert_close(other, model, rows)
    if hasattr(model, "classes_"):
        assert np.array_equal(other.predict(rows), model.predict(rows))
        assert np.array_equal(other.classes_, model.classes_)
    assert not hasattr(other, "certificate_")
    assert ws.certify(other, rows, y).status in ("optimal", "stalled")


def test_models_of_intelex():
    sklearnex = pytest.importorskip("sklearnex.svm")
    X, y = data("svc of three")
    model = sklearnex.SVC(gamma=0.5, decision_function_shape="ovo").fit(X, y)
    assert_close(from_sklearn(model), model, X)


def test_names_of_columns_and_labels_of_text_are_kept():
    pandas = pytest.importorskip("pandas")
    X, y = data("svc")
    frame = pandas.DataFrame(X, columns=["a", "b", "c"])
    model = svm.SVC().fit(frame, np.where(y > 0, "yes", "no"))
    other = from_sklearn(model)
    assert other.feature_names_in_.tolist() == ["a", "b", "c"]
    assert other.predict(frame).tolist() == model.predict(frame).tolist()
    there = to_sklearn(other)
    assert there.feature_names_in_.tolist() == ["a", "b", "c"]
    assert there.predict(frame).tolist() == model.predict(frame).tolist()


def test_a_converted_model_can_be_saved_and_fitted_again(tmp_path):
    X, y = data("svc")
    model = from_sklearn(svm.SVC(gamma=0.5).fit(X, y))
    model.save(tmp_path / "m.street")
    again = ws.load(tmp_path / "m.street")
    assert np.array_equal(decision(again, X), decision(model, X))
    assert again.set_params(warm_start=True).fit(X, y).certificate_.status == "optimal"


def test_theirs_can_be_fitted_again_and_copied():
    model, X, y, _ = fitted("svc/rbf/dense")
    there = copy.deepcopy(to_sklearn(model))
    assert there.fit(X, y).score(X, y) > 0.5


def test_what_cannot_be_converted_is_named():
    X, y = data("svc")
    with pytest.raises(TypeError, match="LinearSVC"):
        from_sklearn(svm.LinearSVC().fit(X, y))
    with pytest.raises(TypeError, match="keep all their training rows"):
        from_sklearn(svm.SVC(kernel=lambda A, B: A @ B.T).fit(X, y))
    for name in ("svc/laplacian/dense", "ensemble/rbf/dense"):
        with pytest.raises(TypeError, match=r"laplacian|EnsembleSVC"):
            to_sklearn(fitted(name).model)


def test_probabilities_are_not_taken_over():
    class WithProbabilities(svm.SVC):
        """A model of a version of scikit-learn that has them."""

    X, y = data("svc")
    model = WithProbabilities().fit(X, y)
    model.probability = True
    with pytest.warns(
        UserWarning, match="probability=True is not taken over.*train widestreet.CalibratedSVC"
    ):
        other = from_sklearn(model)
    assert not hasattr(other, "predict_proba")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ws.certify(model, X, y).status == "optimal"
        from_sklearn(svm.SVC().fit(X, y))
