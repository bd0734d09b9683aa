"""Text models of LIBSVM: written for its own code, and read from it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import widestreet as ws
from conftest import KINDS, OF_THREE, TOL
from support import libsvm_calls
from support.fitted_models import fitted, names
from support.fitting import decision
from support.machines import data
from widestreet.io import ArchiveError, from_libsvm, to_libsvm

SHARED = ("linear", "rbf", "poly", "sigmoid", "precomputed")
CONVERTIBLE = [
    name for name in names() if name.split("/")[1] in SHARED and not name.startswith("ensemble")
]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "some.model"


def dense(X):
    return X.toarray() if sparse.issparse(X) else np.asarray(X)


def by_pairs(model):
    return model.set_params(decision_function_shape="ovo") if hasattr(model, "classes_") else model


def assert_close(found, expected, model, X, what):
    """Equal up to the rounding of sums of coefficients times kernel values."""
    largest = 1.0 if model.kernel in ("rbf", "sigmoid") else 1.0 + np.abs(dense(X)).max() ** 4
    scale = max(1.0, float(np.abs(dense(model.dual_coef_)).sum())) * largest
    np.testing.assert_allclose(found, expected, rtol=0, atol=TOL.scan_float64 * scale, err_msg=what)


def test_all_numbers_come_back_exactly(path):
    for name in CONVERTIBLE:
        model, X, _, new = fitted(name)
        to_libsvm(model, path)
        width = {"n_features": X.shape[1], "n_samples": X.shape[1]}
        other = by_pairs(from_libsvm(path, **width))
        assert type(other) is type(model), name
        assert np.array_equal(dense(other.dual_coef_), dense(model.dual_coef_)), name
        assert np.array_equal(other.intercept_, model.intercept_), name
        assert other._kernel == model._kernel, name
        vectors = dense(model.support_vectors_)
        if "precomputed" in name:
            assert np.array_equal(other.support_, model.support_), name
        else:
            assert np.array_equal(dense(other.support_vectors_), vectors), name
            assert sparse.issparse(other.support_vectors_) == name.endswith("csr"), name
        if vectors.dtype == np.float64:
            assert np.array_equal(decision(other, new), decision(model, new)), name
        assert_close(decision(other, new), decision(model, new), model, new, name)


def test_libsvm_decides_as_our_models(path):
    pytest.importorskip("libsvm")
    for name in CONVERTIBLE:
        model, _, _, new = fitted(name)
        to_libsvm(model, path)
        labels, values = libsvm_calls.predict(path, new)
        ours = decision(by_pairs(model), new).reshape(len(labels), -1)
        if hasattr(model, "classes_"):
            assert np.array_equal(labels, model.predict(new)), name
            values = -values if len(model.classes_) == 2 else values
        assert_close(values, ours, model, new, name)


FORMS = [(kernel, form) for kernel in libsvm_calls.KERNELS for form in ("dense", "csr")]
FORMS.remove(("precomputed", "csr"))


@pytest.mark.parametrize(("kernel", "form"), FORMS)
@pytest.mark.parametrize("kind", KINDS)
def test_our_models_decide_as_those_of_libsvm(kind, kernel, form, path):
    pytest.importorskip("libsvm")
    X, y = data(kind, 50)
    if kind.endswith(OF_THREE):
        y = np.array([5, -3, 2])[y]  # neither sorted nor in order of first occurrence
    if kernel == "precomputed":
        X = X @ X.T
    libsvm_calls.train(kind, kernel, X, y, path)
    labels, values = libsvm_calls.predict(path, X)
    model = by_pairs(from_libsvm(path, n_features=X.shape[1], n_samples=X.shape[1]))
    ours = decision(model, sparse.csr_matrix(X) if form == "csr" else X).reshape(len(y), -1)
    if "svc" in kind:
        assert model.classes_.tolist() == np.unique(y).tolist()
        values = turned(values, list(dict.fromkeys(y.tolist())))
        clear = np.sort(model._layout.votes(values > 0), axis=1)[:, -2:] @ [-1, 1] > 0
        assert np.array_equal(model.predict(X)[clear], labels[clear])  # of a tie, the first wins
    assert_close(ours, values, model, X, kind)


def turned(values, order):
    """Decision values of LIBSVM's pairs as those of pairs of sorted labels."""
    if sorted(order) == [-1, 1]:
        return values  # LIBSVM puts the label 1 first, whichever comes first
    found, every = {}, sorted(order)
    pairs = [(a, b) for i, a in enumerate(order) for b in order[i + 1 :]]
    for (a, b), value in zip(pairs, values.T, strict=True):
        found[a, b], found[b, a] = value, -value
    return np.stack([found[a, b] for i, a in enumerate(every) for b in every[i + 1 :]], axis=1)


def test_the_lines_are_those_of_libsvm(path):
    X = np.array([[0.0, 0.5], [1.0, 0.0], [0.0, 0.0]])
    model = ws.SVC(kernel="poly", degree=2, gamma=0.5, coef0=1.0, C=10.0)
    to_libsvm(model.fit(X, [3, 7, 3]), path)
    lines = path.read_text().splitlines()
    expected = ["svm_type c_svc", "kernel_type polynomial", "degree 2", "gamma 0.5", "coef0 1.0"]
    assert lines[:6] == [*expected, "nr_class 2"]
    names = [line.split()[0] for line in lines[6:11]]
    assert names == ["total_sv", "rho", "label", "nr_sv", "SV"]
    assert "label 3 7" in lines
    assert all("1:" in line and "2:" in line for line in lines[11:])
    to_libsvm(model.fit(sparse.csr_matrix(X), [3, 7, 3]), path)
    assert ":0.0" not in path.read_text()


def test_a_model_of_libsvm_is_certified_and_goes_on(path):
    pytest.importorskip("libsvm")
    X, y = data("svr")
    X = X / 3  # with more digits than LIBSVM writes
    libsvm_calls.train("svr", "rbf", X, y, path)
    model = from_libsvm(path, C=1.0, epsilon=0.1)
    assert not np.isin(dense(model.support_vectors_), X).all()  # LIBSVM has rounded them
    assert ws.certify(model, X, y, tol=0.01).status == "optimal"
    assert ws.certify(from_libsvm(path, C=0.5), X, y).infeasibility > 0.1
    again = ws.SVR(gamma=0.5).fit(X, y, start=model)
    assert again.certificate_.status == "optimal"


def test_what_the_format_cannot_hold_is_refused(path):
    X, y = data("svc")
    for model, reason in [
        (ws.SVC(kernel="laplacian").fit(X, y), "LIBSVM has only"),
        (ws.SVC(kernel=lambda A, B: A @ B.T).fit(X, y), "LIBSVM has only"),
        (ws.EnsembleSVC().fit(X, y), "EnsembleSVC"),
    ]:
        with pytest.raises(TypeError, match=reason):
            to_libsvm(model, path)
    for labels in (np.where(y > 0, "yes", "no"), y * 2.0**40):
        with pytest.raises(ValueError, match="LabelEncoder"):
            to_libsvm(ws.SVC().fit(X, labels), path)
    assert not path.exists()


def test_columns_that_no_support_vector_has(path):
    X = np.array([[0.0, 0.5, 0.0], [1.0, 0.0, 0.0]])
    to_libsvm(ws.SVC(gamma=1.0).fit(X, [0, 1]), path)
    assert from_libsvm(path).n_features_in_ == 3
    to_libsvm(ws.SVC(gamma=1.0).fit(sparse.csr_matrix(X), [0, 1]), path)
    assert from_libsvm(path).n_features_in_ == 2
    assert from_libsvm(path, n_features=3).predict(X).tolist() == [0, 1]
    with pytest.raises(ValueError, match="n_features must be an integer of at least 2"):
        from_libsvm(path, n_features=1)


def test_a_kernel_matrix_has_as_many_columns_as_there_were_rows(path):
    to_libsvm(fitted("svc/precomputed/dense").model, path)
    with pytest.raises(ValueError, match="pass n_samples"):
        from_libsvm(path, n_features=120)
    with pytest.warns(UserWarning, match="pass n_samples"):
        from_libsvm(path)


def test_an_archive_is_no_text(path):
    fitted("svc/rbf/dense").model.save(path)
    with pytest.raises(ArchiveError, match=r"widestreet\.load"):
        from_libsvm(path)
    to_libsvm(fitted("svc/rbf/dense").model, path)
    with pytest.raises(ArchiveError, match="from_libsvm"):
        ws.load(path)


def test_a_kernel_with_impossible_parameters(path):
    to_libsvm(fitted("svr/rbf/dense").model, path)
    path.write_text(path.read_text().replace("gamma 0.5", "gamma -0.5"))
    with pytest.raises(ArchiveError, match=r"some\.model is not a model of LIBSVM: gamma"):
        from_libsvm(path)
