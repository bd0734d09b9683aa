"""Equal problems in different clothes give the same decision function: weights, rows, kernels."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse

from conftest import KINDS, OF_THREE, TOL
from reference import kernels
from support.fitting import coefficients, decision, limited_by_float64
from support.machines import (
    CLASSIFIERS,
    CONVEX,
    GAMMA,
    KERNELS,
    C,
    any_street,
    assert_same_function,
    assert_same_objective,
    data,
    machine,
)

pytestmark = [pytest.mark.numeric, any_street, limited_by_float64]

# -- weights -----------------------------------------------------------------------------------

FORMS = ("dense", "csr", "precomputed")


def in_form(form: str, X, columns=None):
    """The same rows as an array, as CSR, or as kernel values against the training rows."""
    if form == "precomputed":
        return kernels.matrix("rbf", X, X if columns is None else columns, gamma=GAMMA)
    return X if form == "dense" else sparse.csr_matrix(X)


def fit_in_form(kind, form, X, y, weight=None):
    kernel = "precomputed" if form == "precomputed" else "rbf"
    return machine(kind, kernel=kernel).fit(in_form(form, X), y, weight)


@pytest.mark.parametrize("form", FORMS)
def test_a_weight_is_a_repetition(kind, form, rng):
    X, y = data(kind)
    count = rng.integers(0, 4, len(y))
    X_repeated, y_repeated = np.repeat(X, count, axis=0), np.repeat(y, count)
    weighted = fit_in_form(kind, form, X, y, count)
    repeated = fit_in_form(kind, form, X_repeated, y_repeated)
    assert_same_function(weighted, repeated, in_form(form, X, X), in_form(form, X, X_repeated))
    assert_same_objective(weighted, repeated)


@pytest.mark.parametrize("form", FORMS)
def test_weight_zero_is_absence(kind, form, rng):
    X, y = data(kind)
    weight = np.where(rng.random(len(y)) < 0.4, 0.0, 1.5)
    there = weight > 0
    weighted = fit_in_form(kind, form, X, y, weight)
    without = fit_in_form(kind, form, X[there], y[there], weight[there])
    assert_same_function(weighted, without, in_form(form, X, X), in_form(form, X, X[there]))
    assert_same_objective(weighted, without)
    assert there[weighted.support_].all()


def test_gamma_scale_sees_weights_as_repetitions(kind, rng):
    X, y = data(kind)
    count = rng.integers(0, 4, len(y))
    weighted = machine(kind, gamma="scale").fit(X, y, count)
    repeated = machine(kind, gamma="scale").fit(np.repeat(X, count, axis=0), np.repeat(y, count))
    assert_same_function(weighted, repeated, X)


def test_weights_scale_C(kind):
    """Without a C, only the unit of scores depends on the sum of the weights."""
    X, y = data(kind)
    has_C = hasattr(machine(kind), "C")
    one = machine(kind, **{"C": 3 * C} if has_C else {}).fit(X, y)
    for weight in (np.full(len(y), 3.0), 3.0):
        other = machine(kind).fit(X, y, weight)
        factor = 3 if kind == "one_class" else 1
        difference = np.abs(factor * decision(one, X) - decision(other, X)).max()
        assert difference <= factor * TOL.decision


@pytest.mark.parametrize("kind", ["svc", "nu_svc"])
@pytest.mark.parametrize("form", FORMS)
def test_a_class_without_weight_is_absent(kind, form):
    X, y = data(kind + OF_THREE)
    there = y != 1
    model = fit_in_form(kind, form, X, y, there)
    without = fit_in_form(kind, form, X[there], y[there])
    assert model.classes_.tolist() == [0, 2]
    assert len(model.certificates_) == len(model.intercept_) == 1
    assert len(model.n_support_) == len(model.class_weight_) == 2
    Z, Z_without = in_form(form, X, X), in_form(form, X, X[there])
    assert_same_function(model, without, Z, Z_without)
    np.testing.assert_array_equal(model.predict(Z), without.predict(Z_without))
    weighted = machine(kind, class_weight={0: 1.5, 1: 7.0, 2: 1.0}).fit(X, y, there)
    assert weighted.class_weight_.tolist() == [1.5, 1.0]


@pytest.mark.parametrize("kind", CLASSIFIERS)
@pytest.mark.parametrize("class_weight", [{0: 2.0, 1: 1.5}, {1: 2.0}, "balanced"])
def test_class_weight_multiplies_sample_weight(kind, class_weight, rng):
    X, y = data(kind)
    y = np.where(rng.random(len(y)) < 0.2, 0, np.maximum(y, 0))
    weight = rng.choice([0.5, 1.0, 2.0], len(y))
    one = machine(kind, class_weight=class_weight).fit(X, y, weight)
    factor = one.class_weight_[y]
    other = machine(kind).fit(X, y, weight * factor)
    assert_same_function(one, other, X)
    if class_weight == "balanced":
        sums = np.bincount(y, weight * factor)
        np.testing.assert_allclose(sums, sums[0], rtol=TOL.exact * len(y))


# -- rows --------------------------------------------------------------------------------------


@pytest.mark.parametrize("strategy", ["auto", "smo"])
@pytest.mark.parametrize("kernel", CONVEX)
def test_order_of_the_rows_does_not_matter(kind, kernel, strategy, rng):
    X, y = data(kind)
    order = rng.permutation(len(y))
    one = machine(kind, strategy=strategy, **KERNELS[kernel]).fit(X, y)
    other = machine(kind, strategy=strategy, **KERNELS[kernel]).fit(X[order], y[order])
    assert_same_function(one, other, X)


def read_only(X):
    X = X.copy()
    X.flags.writeable = False
    return X


def wide_indices(X):
    csr = sparse.csr_matrix(X)
    csr.indices, csr.indptr = csr.indices.astype(np.int64), csr.indptr.astype(np.int64)
    return csr


def unsorted(X):
    """CSR with the columns of each row in descending order."""
    csr = sparse.csr_matrix(X)
    ends = list(pairwise(csr.indptr))
    backwards = np.concatenate([np.arange(b - 1, a - 1, -1) for a, b in ends])
    return sparse.csr_matrix((csr.data[backwards], csr.indices[backwards], csr.indptr), csr.shape)


def doubled_entries(X):
    csr = sparse.csr_matrix(X)
    twice = np.repeat(np.arange(csr.nnz), 2)
    return sparse.csr_matrix((0.5 * csr.data[twice], csr.indices[twice], 2 * csr.indptr), csr.shape)


LAYOUTS = {
    "F order": np.asfortranarray,
    "read-only": read_only,
    "strided": lambda X: np.repeat(np.repeat(X, 2, axis=1), 2, axis=0)[::2, ::2],
    "reversed": lambda X: X[::-1, ::-1].copy()[::-1, ::-1],
    "big-endian": lambda X: X.astype(">f8"),
    "float16": lambda X: X.astype(np.float16),
    "long double": lambda X: X.astype(np.longdouble),
    "objects": lambda X: X.astype(object),
    "list": lambda X: X.tolist(),
    "csr_matrix": sparse.csr_matrix,
    "csr_array": sparse.csr_array,
    "csc_matrix": sparse.csc_matrix,
    "csc_array": sparse.csc_array,
    "coo_matrix": sparse.coo_matrix,
    "coo_array": sparse.coo_array,
    "lil_matrix": sparse.lil_matrix,
    "lil_array": sparse.lil_array,
    "int64 indices": wide_indices,
    "unsorted indices": unsorted,
    "doubled entries": doubled_entries,
    "float32": lambda X: X.astype(np.float32),
    "float32 csr": lambda X: sparse.csr_matrix(X.astype(np.float32)),
    "float32 F order": lambda X: np.asfortranarray(X, dtype=np.float32),
}


@pytest.mark.parametrize("kernel", KERNELS)
def test_layout_and_precision_of_the_rows_do_not_matter(kind, kernel):
    """The rows hold the same numbers, so they give the same function.

    Each layout is met with every machine and with every kernel, but not with all pairs of them.
    Sigmoid kernel matrices are indefinite: there are several local optima, and rounding decides
    between them. Then each function is an optimum, and the same for both forms of the rows.
    """
    X, y = data(kind, 60)
    one = machine(kind, **KERNELS[kernel]).fit(X, y)
    turn = KINDS.index(kind) + list(KERNELS).index(kernel)
    for layout, lay_out in list(LAYOUTS.items())[turn % 3 :: 3]:
        Z = lay_out(X)
        other = machine(kind, **KERNELS[kernel]).fit(Z, y)
        if kernel == "sigmoid":
            assert {c.status for c in (one.certificate_, other.certificate_)} == {"optimal"}
            one = other
        assert_same_function(one, other, X, Z)
        assert sparse.issparse(other.support_vectors_) == sparse.issparse(Z), layout
        if not sparse.issparse(Z):
            np.testing.assert_array_equal(np.asarray(other.support_vectors_), X[other.support_])
        dtype = np.float32 if "float32" in layout else np.float64
        assert other.support_vectors_.dtype == dtype, layout


def test_rows_in_a_file(kind, tmp_path):
    X, y = data(kind)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    assert_same_function(machine(kind).fit(X, y), machine(kind).fit(mapped, y), X, mapped)


def test_input_is_left_alone(kind):
    X, y = data(kind)
    weight = np.linspace(0, 1, len(y))
    for rows in (X, sparse.csr_matrix(X), unsorted(X), doubled_entries(X)):
        before = [rows.copy(), y.copy(), weight.copy()]
        machine(kind).fit(rows, y, weight).predict(rows)
        assert abs(rows - before[0]).sum() == 0
        if sparse.issparse(rows):
            assert np.array_equal(rows.indices, before[0].indices)
        assert np.array_equal(y, before[1])
        assert np.array_equal(weight, before[2])


def test_equal_rows_are_merged_without_a_trace(kind, rng):
    """Copies of a row divide its coefficient among them, contradictory ones stay apart."""
    X, y = data(kind)
    again = rng.integers(0, len(y), 80)
    Z, z = np.vstack([X, X[again]]), np.concatenate([y, y[again]])
    model = machine(kind).fit(Z, z)
    count = 1.0 + np.bincount(again, minlength=len(y))
    plain = machine(kind).fit(X, y, count)
    assert_same_function(model, plain, X)
    assert len(model.support_) <= count[plain.support_].sum()
    assert np.abs(coefficients(model)).max() <= C * (1 + TOL.exact)
    assert model.shape_fit_ == Z.shape


def test_frames_and_feature_names(kind):
    pd = pytest.importorskip("pandas")
    X, y = data(kind)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = machine(kind).fit(frame, pd.Series(y))
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    assert model.n_features_in_ == 3
    plain = machine(kind).fit(X, y)
    assert_same_function(model, plain, frame, X)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["b", "a", "c"]])
    with pytest.raises(ValueError, match="3 features"):
        plain.predict(X[:, :2])


# -- kernels -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", CONVEX)
def test_precomputed_and_callable_kernels_are_the_native_ones(kind, kernel):
    X, y = data(kind)
    options = dict(KERNELS[kernel])
    name = options.pop("kernel")

    def function(A, B):
        return kernels.matrix(name, A, B, **options)

    native = machine(kind, **KERNELS[kernel]).fit(X, y)
    called = machine(kind, kernel=function).fit(X, y)
    K = function(X, X)
    computed = machine(kind, kernel="precomputed").fit(K, y)
    assert_same_function(native, called, X)
    assert_same_function(native, computed, X, K)
    assert_same_function(native, computed, X[:7], K[:7])
    ridge = len(K) * np.finfo(np.float32).eps * np.abs(K).max()  # else rounding makes it indefinite
    definite = (K + ridge * np.eye(len(K))).astype(np.float32)
    rounded = machine(kind, kernel="precomputed").fit(definite, y)
    assert rounded.certificate_.status == "optimal"


def test_a_callable_on_sparse_rows_and_one_that_returns_float32(kind):
    X, y = data(kind)
    csr = sparse.csr_matrix(X)
    called = machine(kind, kernel=lambda A, B: A @ B.T).fit(csr, y)
    native = machine(kind, kernel="linear").fit(X, y)
    assert_same_function(called, native, csr, X)
    coarse = machine(kind, kernel=lambda A, B: np.float32(A @ B.T), tol=1e-3).fit(X, y)
    assert coarse.certificate_.status == "optimal"


def test_gamma(kind):
    X, y = data(kind)
    scale = machine(kind, gamma="scale").fit(X, y)
    assert_same_function(scale, machine(kind, gamma=1 / (X.shape[1] * X.var())).fit(X, y), X)
    assert_same_function(
        scale, machine(kind, gamma="scale").fit(sparse.csr_matrix(X), y), X, sparse.csr_matrix(X)
    )
    auto = machine(kind, gamma="auto").fit(X, y)
    assert_same_function(auto, machine(kind, gamma=1 / X.shape[1]).fit(X, y), X)


def test_translation_does_not_matter_to_invariant_kernels(kind):
    """Rows far from the origin keep their digits: features are centred."""
    X, y = data(kind)
    for kernel in ("rbf", "laplacian"):
        one = machine(kind, **KERNELS[kernel]).fit(X, y)
        other = machine(kind, **KERNELS[kernel]).fit(X + 2.0**20, y)
        assert_same_function(one, other, X, X + 2.0**20)


# -- what prediction needs ---------------------------------------------------------------------


@pytest.mark.parametrize("fitted", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("kernel", KERNELS)
def test_a_model_reads_rows_in_either_form(kind, fitted, kernel):
    """Far from the origin, so that a centre subtracted on one side only would show."""
    X, y = data(kind)
    X = X + 3.0
    model = machine(kind, kernel=kernel, tol=1e-3).fit(fitted(X), y)
    assert_same_function(model, model, X, sparse.csr_matrix(X))


def test_a_refit_that_fails_leaves_the_old_model(kind):
    X, y = data(kind)
    model = machine(kind).fit(X, y)
    before = model.predict(X)
    model.set_params(gamma=5.0, max_memory=1000)
    with pytest.raises(ValueError, match="max_memory"):
        model.fit(X + 10.0, y)
    assert np.array_equal(model.predict(X), before)
