"""Numbers, labels and tables of any kind that scikit-learn takes: the predictions are the same."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import DataConversionWarning

from conftest import KINDS, TOL
from support.fitting import decision
from support.machines import CLASSIFIERS, assert_same_function, data, machine

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

REGRESSORS = ("svr", "nu_svr")
SUPERVISED = tuple(kind for kind in KINDS if kind != "one_class")


def predictions(kind, X, y, Z=None, weight=None):
    """Predictions and decision values of the rows (or of others) after a fit."""
    model = machine(kind).fit(X, y, weight)
    Z = X if Z is None else Z
    return model.predict(Z), decision(model, Z)


def assert_same_predictions(one, other):
    for mine, yours in zip(one, other, strict=True):
        np.testing.assert_allclose(mine, yours, rtol=0, atol=TOL.decision)


# -- numbers that are widened ------------------------------------------------------------------

WHOLE = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint64, np.float16, object]


def whole_numbers(kind):
    X, y = data(kind, 60)
    return np.round(2 * X + 10), y


@pytest.mark.parametrize("dtype", WHOLE)
def test_whole_numbers(kind, dtype):
    X, y = whole_numbers(kind)
    model = machine(kind).fit(X.astype(dtype), y)
    assert model.support_vectors_.dtype == np.float64
    assert_same_function(model, machine(kind).fit(X, y), X.astype(dtype), X)


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64, np.uint16])
@pytest.mark.parametrize("form", [sparse.csr_matrix, sparse.csc_array, sparse.lil_array])
def test_whole_numbers_in_sparse_rows(kind, dtype, form):
    X, y = whole_numbers(kind)
    rows = form(X.astype(dtype))
    model = machine(kind).fit(rows, y)
    assert model.support_vectors_.dtype == np.float64
    assert_same_function(model, machine(kind).fit(X, y), rows, X)


@pytest.mark.parametrize(
    "form", [np.asarray, sparse.csr_matrix, sparse.csr_array, sparse.lil_array]
)
def test_flags(kind, form, rng):
    _, y = data(kind, 60)
    flags = rng.random((60, 12)) < 0.4
    model = machine(kind).fit(form(flags), y)
    assert model.support_vectors_.dtype == np.float64
    numbers = flags.astype(np.float64)
    assert_same_function(model, machine(kind).fit(numbers, y), form(flags), numbers)


@pytest.mark.parametrize("precisions", [(np.float32, np.float64), (np.float64, np.float32)])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_rows_to_predict_may_have_another_precision(kind, precisions, form):
    X, y = data(kind, 60)
    fitted, asked = (form(X.astype(dtype)) for dtype in precisions)
    model = machine(kind).fit(fitted, y)
    assert model.support_vectors_.dtype == precisions[0]
    assert decision(model, asked).dtype == np.float64
    assert_same_function(model, machine(kind).fit(X, y), asked, X)
    assert_same_function(model, machine(kind).fit(X, y), X.astype(np.float16), X)


# -- sparse forms ------------------------------------------------------------------------------


def doubled(X):
    """COO with every entry split into two, out of order, and an explicit zero."""
    coo = sparse.coo_array(X)
    order = np.random.default_rng(0).permutation(2 * coo.nnz)
    values = np.append(np.tile(coo.data / 2, 2)[order], 0.0)
    row, column = (np.append(np.tile(place, 2)[order], 0) for place in coo.coords)
    return sparse.coo_array((values, (row, column)), X.shape)


def wide(X, form):
    """Indices of 64 bits."""
    found = form(X)
    found.indices, found.indptr = found.indices.astype(np.int64), found.indptr.astype(np.int64)
    return found


SPARSE = {
    "COO with doubled entries": doubled,
    "CSC with 64-bit indices": lambda X: wide(X, sparse.csc_matrix),
    "CSR array with 64-bit indices": lambda X: wide(X, sparse.csr_array),
    "float32 CSC": lambda X: sparse.csc_array(X.astype(np.float32)),
    "float32 COO": lambda X: sparse.coo_matrix(X.astype(np.float32)),
    "DOK": sparse.dok_array,
    "BSR": lambda X: sparse.bsr_array(X, blocksize=(2, 3)),
    "DIA": sparse.dia_array,
    "a slice": lambda X: sparse.csr_array(np.repeat(X, 2, axis=0))[::2],
}


@pytest.mark.parametrize("form", SPARSE)
def test_sparse_forms(kind, form):
    X, y = data(kind, 60)
    rows = SPARSE[form](X)
    model = machine(kind).fit(rows, y)
    assert sparse.issparse(model.support_vectors_)
    assert model.support_vectors_.format == "csr"
    assert_same_function(model, machine(kind).fit(X, y), rows, X)


# -- memory that is not ours -------------------------------------------------------------------


def test_everything_read_only_or_in_files(kind, tmp_path):
    X, y = data(kind, 60)
    weight = np.linspace(0.5, 1.5, 60)
    expected = predictions(kind, X, y, weight=weight)
    frozen = [X.copy(), y.copy(), weight.copy()]
    csr = sparse.csr_matrix(X)
    for array in (*frozen, csr.data, csr.indices, csr.indptr):
        array.flags.writeable = False
    assert_same_predictions(predictions(kind, *frozen[:2], weight=frozen[2]), expected)
    assert_same_predictions(predictions(kind, csr, frozen[1], weight=frozen[2]), expected)
    mapped = []
    for name, array in {"X": X, "y": y, "weight": weight}.items():
        on_disk = np.memmap(tmp_path / name, array.dtype, mode="w+", shape=array.shape)
        on_disk[:] = array
        on_disk.flush()
        mapped.append(np.memmap(tmp_path / name, array.dtype, mode="r", shape=array.shape))
    model = machine(kind).fit(*mapped)
    assert_same_predictions((model.predict(mapped[0]), decision(model, mapped[0])), expected)


# -- labels and targets ------------------------------------------------------------------------

NAMES = np.array(["no", "yes", "maybe"])  # not in order


LABELS = {
    "text": lambda code: NAMES[code],
    "text in objects": lambda code: NAMES[code].astype(object),
    "a list": lambda code: NAMES[code].tolist(),
    "a tuple": lambda code: tuple(code.tolist()),
    "integers": lambda code: (code * 3 - 1).astype(np.int8),
    "unsigned integers": lambda code: code.astype(np.uint64),
    "floats": lambda code: code.astype(np.float32),
    "Series": lambda code: pd.Series(code, index=code[::-1]),
    "Series of text": lambda code: pd.Series(NAMES[code]),
    "Series of strings": lambda code: pd.Series(NAMES[code], dtype="string"),
    "Series of categories": lambda code: pd.Series(NAMES[code], dtype="category"),
    "categories": lambda code: pd.Categorical(NAMES[code]),
    "Series of nullable integers": lambda code: pd.Series(code, dtype="Int64"),
    "polars text": lambda code: pl.Series(NAMES[code].tolist()),
    "polars categories": lambda code: pl.Series(NAMES[code].tolist(), dtype=pl.Categorical),
    "polars integers": lambda code: pl.Series(code.tolist()),
}
FLAGS = {
    "flags": lambda code: code > 0,
    "a list of flags": lambda code: (code > 0).tolist(),
    "Series of flags": lambda code: pd.Series(code > 0),
    "nullable flags": lambda code: pd.Series(code > 0, dtype="boolean"),
    "polars flags": lambda code: pl.Series((code > 0).tolist()),
}


@pytest.mark.crossed
@pytest.mark.parametrize(
    ("kind", "form"),
    [(kind, form) for kind in CLASSIFIERS for form in LABELS]
    + [(kind, form) for kind in ("svc", "nu_svc") for form in FLAGS],
)
def test_labels(kind, form):
    X, y = data(kind, 60)
    _, code = np.unique(y, return_inverse=True)
    given = (LABELS | FLAGS)[form](code)
    model = machine(kind).fit(X, given)
    labels = np.asarray(given)
    assert set(model.classes_) == set(labels)
    assert model.predict(X).dtype == model.classes_.dtype
    place = np.unique(labels, return_inverse=True)[1]  # in the order of the classes
    plain = machine(kind).fit(X, place)
    assert_same_function(model, plain, X)
    np.testing.assert_array_equal(model.predict(X), model.classes_[plain.predict(X)])


TARGETS = {
    "integers": lambda y: y,
    "small integers": lambda y: y.astype(np.int8),
    "unsigned integers": lambda y: (y - y.min()).astype(np.uint8),
    "flags": lambda y: y > 0,
    "float32": lambda y: y.astype(np.float32),
    "float16": lambda y: y.astype(np.float16),
    "objects": lambda y: y.astype(object),
    "a list": lambda y: y.tolist(),
    "Series": lambda y: pd.Series(y, index=y),
    "nullable integers": lambda y: pd.Series(y, dtype="Int64"),
    "polars": lambda y: pl.Series(y),
}


@pytest.mark.parametrize("form", TARGETS)
@pytest.mark.parametrize("kind", REGRESSORS)
def test_targets(kind, form):
    X, y = data(kind, 60)
    given = TARGETS[form](np.round(4 * y).astype(np.int64))
    plain = np.array(given, dtype=np.float64)
    assert_same_predictions(predictions(kind, X, given), predictions(kind, X, plain))


@pytest.mark.parametrize("kind", SUPERVISED)
def test_a_column_of_labels_is_flattened_with_a_warning(kind):
    X, y = data(kind, 60)
    with pytest.warns(DataConversionWarning, match="column-vector"):
        found = predictions(kind, X, y[:, None])
    assert_same_predictions(found, predictions(kind, X, y))


# -- tables ------------------------------------------------------------------------------------

COLUMNS = ["a", "b", "c"]
FRAMES = {
    "pandas": lambda X: pd.DataFrame(X, columns=COLUMNS, index=X[:, 0]),
    "pandas, float32": lambda X: pd.DataFrame(X.astype(np.float32), columns=COLUMNS),
    "pandas, mixed": lambda X: pd.DataFrame(X, columns=COLUMNS).astype(
        {"a": "float32", "b": "object"}
    ),
    "pandas, nullable": lambda X: pd.DataFrame(X, columns=COLUMNS).astype("Float64"),
    "pandas, sparse": lambda X: pd.DataFrame(X, columns=COLUMNS).astype(
        pd.SparseDtype("float64", 0.0)
    ),
    "polars": lambda X: pl.DataFrame(X, schema=COLUMNS),
    "polars, float32": lambda X: pl.DataFrame(X.astype(np.float32), schema=COLUMNS),
}


@pytest.mark.parametrize("form", FRAMES)
def test_tables(kind, form):
    X, y = data(kind, 60)
    frame = FRAMES[form](X)
    model = machine(kind).fit(frame, y)
    assert model.feature_names_in_.tolist() == COLUMNS
    assert_same_function(model, machine(kind).fit(X, y), frame, X)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame[["b", "a", "c"]])
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame[["a", "b"]])
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        decision(model, X)


def test_tables_without_names(kind):
    X, y = data(kind, 60)
    model = machine(kind).fit(pd.DataFrame(X), y)
    assert not hasattr(model, "feature_names_in_")
    assert_same_function(model, machine(kind).fit(X, y), pd.DataFrame(X), X)


WEIGHTS = {
    "a list": lambda weight: weight.tolist(),
    "integers": lambda weight: weight.astype(np.uint8),
    "float16": lambda weight: weight.astype(np.float16),
    "Series": lambda weight: pd.Series(weight, index=weight),
    "nullable integers": lambda weight: pd.Series(weight, dtype="Int64"),
    "polars": lambda weight: pl.Series(weight),
}


@pytest.mark.parametrize("form", WEIGHTS)
def test_weights(kind, form):
    X, y = data(kind, 60)
    weight = np.arange(60.0) // 2 % 3
    expected = predictions(kind, X, y, weight=weight)
    assert_same_predictions(predictions(kind, X, y, weight=WEIGHTS[form](weight)), expected)
