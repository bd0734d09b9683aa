"""Columns that a machine cannot use are named, with what to do about them."""

from __future__ import annotations

import re
import warnings
from datetime import date, datetime, timedelta

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.exceptions import DataConversionWarning
from sklearn.preprocessing import StandardScaler

import widestreet as ws
from support.machines import data, machine
from support.online_machines import ONLINE, add
from support.online_machines import machine as online
from widestreet._src.estimators.columns import explained
from widestreet.datasets import checkerboard

N = 12
NUMBERS = np.linspace(-1.0, 1.0, N)
LABELS = np.arange(N) % 2
TEXT = ["red", "blue"] * (N // 2)
DAYS = pd.date_range("2024-01-01", periods=N)

# -- values that are no numbers ------------------------------------------------------------------

CURES = {
    "text": r"text such as '(red|blue)' in {}: .*OneHotEncoder or OrdinalEncoder",
    "dates": r"dates or times( such as 2024-01-01[^:]*[0-9:+]*)? in {}: turn them into numbers",
    "complex": r"complex numbers( such as \S+)? in {}: .*real and the imaginary parts",
    "NaN": r"NaN in {}: .*SimpleImputer",
    "infinity": r"infinity in {}: .*drop those rows",
    "objects": r"objects of type \w+ in {}: pass numbers",
    "huge": r"numbers too large for float64 in {}: scale",
}
COLUMNS = {
    "str": ("text", pd.Series(TEXT)),
    "object text": ("text", np.array(TEXT, dtype=object)),
    "category": ("text", pd.Categorical(TEXT)),
    "one text among numbers": ("text", np.array([*range(N - 1), "red"], dtype=object)),
    "datetime64": ("dates", DAYS),
    "with a time zone": ("dates", DAYS.tz_localize("UTC")),
    "date objects": ("dates", np.array(DAYS.date, dtype=object)),
    "period": ("dates", DAYS.to_period("D")),
    "timedelta64": ("dates", DAYS - datetime(2023, 1, 1)),
    "complex": ("complex", NUMBERS * 1j),
    "object complex": ("complex", np.array([1j] * N, dtype=object)),
    "dicts": ("objects", np.array([{}] * N, dtype=object)),
    "lists": ("objects", pd.Series([[1, 2]] * N)),
    "NaN": ("NaN", np.where(NUMBERS > 0, np.nan, 1.0)),
    "pandas' NA": ("NaN", pd.array([pd.NA, *range(N - 1)], dtype="Int64")),
    "NA among objects": ("NaN", np.array([pd.NA, *range(N - 1)], dtype=object)),
    "infinity": ("infinity", np.where(NUMBERS > 0, np.inf, 1.0)),
    "a huge whole number": ("huge", np.array([10**400] * N, dtype=object)),
}


def message(what: str, name: str, column: str) -> str:
    return f"^{name} contains {CURES[what].format(re.escape(column))}"


@pytest.fixture(params=["fit", "predict"])
def use(request):
    """Use a table for training or for prediction."""
    if request.param == "fit":
        return lambda X: ws.SVC(n_jobs=1).fit(X, LABELS)

    def predict(X):
        rows = pd.DataFrame(np.random.default_rng(0).normal(size=(N, 2)), columns=["a", "b"])
        named = hasattr(X, "columns")
        return ws.SVC(n_jobs=1).fit(rows if named else rows.to_numpy(), LABELS).predict(X)

    return predict


@pytest.mark.parametrize("what", COLUMNS)
def test_columns_of_pandas(use, what):
    kind, column = COLUMNS[what]
    with pytest.raises((ValueError, TypeError), match=message(kind, "X", "column 'b'")):
        use(pd.DataFrame({"a": NUMBERS, "b": column}))


@pytest.mark.parametrize(
    ("kind", "column"),
    [
        ("text", pl.Series(TEXT)),
        ("text", pl.Series(TEXT, dtype=pl.Categorical)),
        ("dates", pl.Series(DAYS.date.tolist())),
        ("dates", pl.Series(DAYS.to_pydatetime().tolist())),
        ("dates", pl.Series([timedelta(days=i) for i in range(N)])),
        ("NaN", pl.Series([None, *NUMBERS[1:]])),
        ("objects", pl.Series([[1, 2]] * N)),
    ],
)
def test_columns_of_polars(use, kind, column):
    with pytest.raises((ValueError, TypeError), match=message(kind, "X", "column 'b'")):
        use(pl.DataFrame({"a": NUMBERS, "b": column}))


def both(second) -> np.ndarray:
    """Two columns, the second as given, in an array of objects."""
    return np.array([NUMBERS.tolist(), list(second)], dtype=object).T


ARRAYS = {
    "objects with text": ("text", both(TEXT)),
    "objects with dates": ("dates", both([date(2024, 1, 1)] * N)),
    "objects with complex numbers": ("complex", both([1j] * N)),
    "strings": ("text", np.array([["1"] * N, TEXT]).T),
    "nested lists": ("text", list(zip(NUMBERS.tolist(), TEXT, strict=True))),
    "CSR with NaN": ("NaN", sparse.csr_matrix(np.column_stack([NUMBERS, NUMBERS * np.nan]))),
    "COO with infinity": ("infinity", sparse.coo_array(np.array([[0.0, np.inf]] * N))),
    "complex CSR": ("complex", sparse.csr_matrix(np.array([[0.0, 1j]] * N))),
}
if hasattr(np.dtypes, "StringDType"):  # NumPy 2
    words = np.array([["1"] * N, TEXT], dtype=np.dtypes.StringDType())
    ARRAYS["strings of any length"] = ("text", words.T)


@pytest.mark.parametrize("what", ARRAYS)
def test_columns_of_arrays(use, what):
    kind, X = ARRAYS[what]
    with pytest.raises((ValueError, TypeError), match=message(kind, "X", "column 1")):
        use(X)


@pytest.mark.parametrize(
    ("kind", "X"),
    [
        ("dates", np.repeat(DAYS.to_numpy()[:, None], 2, axis=1)),
        ("dates", [[day, day] for day in DAYS.to_numpy()]),
        ("dates", np.repeat((DAYS - DAYS[0]).to_numpy()[:, None], 2, axis=1)),
        ("complex", np.full((N, 2), 1j)),
        ("text", np.array([TEXT, TEXT]).T),
    ],
)
def test_arrays_without_numbers(use, kind, X):
    """NumPy would convert dates silently, in units that depend on their dtype."""
    with pytest.raises(ValueError, match=message(kind, "X", "columns 0, 1")):
        use(X)


def test_structured_arrays():
    fields = [("a", "f8"), ("b", "U4")]
    with pytest.raises(ValueError, match=message("text", "X", "column 'b'")):
        ws.SVC().fit(np.array(list(zip(NUMBERS, TEXT, strict=True)), dtype=fields), LABELS)
    rows = np.array([(1.0, 2.0)] * N, dtype=[("a", "f8"), ("b", "f8")])
    with pytest.raises(ValueError, match=r"X must not be.*structured_to_unstructured\(X\)"):
        ws.SVC().fit(rows, LABELS)


def test_several_kinds_and_many_columns():
    frame = pd.DataFrame({f"t{i}": TEXT for i in range(7)} | {"d": DAYS, "n": NUMBERS})
    with pytest.raises(ValueError, match=r"'t0', 't1', 't2', 't3', 't4' and 2 more") as caught:
        ws.SVC().fit(frame, LABELS)
    assert re.search(r"; X contains dates or times in column 'd': ", str(caught.value))


@pytest.mark.parametrize("what", ["str", "datetime64", "complex"])
def test_every_machine_names_columns(kind, what):
    X, y = data(kind, N)
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    bad = table.assign(b=COLUMNS[what][1])
    said = message(COLUMNS[what][0], "X", "column 'b'")
    with pytest.raises(ValueError, match=said):
        machine(kind).fit(bad, y)
    model = add(online(kind), kind, table, y)
    for call in (lambda: add(model, kind, bad, y), lambda: model.predict(bad)):
        with pytest.raises(ValueError, match=said):
            call()
    assert model.n_rows_ == N


def test_paths_name_columns():
    bad = pd.DataFrame({"a": NUMBERS, "b": TEXT})
    said = message("text", "X", "column 'b'")
    with pytest.raises(ValueError, match=said):
        ws.leave_one_out(ws.SVC(), bad, LABELS)
    with pytest.raises(ValueError, match=said):
        ws.regularization_path(bad, LABELS, C_min=0.1, C_max=1.0)


BAD_TARGETS = {
    "text": (TEXT, r"text such as 'red': pass numbers"),
    "objects with text": (np.array(TEXT, dtype=object), r"text such as 'red': pass numbers"),
    "category": (pd.Series(TEXT, dtype="category"), r"text such as 'red': pass numbers"),
    "dates": (DAYS, r"dates or times: turn them into numbers"),
    "values of dates": (DAYS.to_numpy(), r"dates or times: turn them into numbers"),
    "date objects": (DAYS.date, r"dates or times such as 2024-01-01: turn them into numbers"),
    "polars dates": (pl.Series(DAYS.date.tolist()), r"dates or times: turn them into numbers"),
    "complex": (NUMBERS * 1j, r"complex numbers: .*pass real numbers"),
    "objects": (np.array([{}] * N), r"objects of type dict: pass numbers"),
    "NaN": (np.where(NUMBERS > 0, np.nan, 1.0), r"NaN: drop those rows"),
    "None among numbers": ([None, *NUMBERS[1:]], r"NaN: drop those rows"),
    "None among objects": (pd.Series([None, *NUMBERS[1:]], dtype=object), r"NaN: drop those rows"),
    "infinity": (np.where(NUMBERS > 0, np.inf, 1.0), r"infinity: .*drop those rows"),
}
if np.finfo(np.longdouble).max > np.finfo(np.float64).max:
    beyond = np.finfo(np.float64).max * np.longdouble(16.0)
    BAD_TARGETS["beyond float64"] = (np.full(N, beyond), r"infinity: .*drop those rows")


@pytest.mark.parametrize("what", BAD_TARGETS)
@pytest.mark.parametrize("make", [ws.SVR, ws.NuSVR, ONLINE["svr"], ONLINE["nu_svr"]])
def test_targets(make, what):
    y, said = BAD_TARGETS[what]
    with pytest.raises((ValueError, TypeError), match=f"^y contains {said}"):
        make().fit(NUMBERS[:, None], y)


@pytest.mark.parametrize("what", BAD_TARGETS)
def test_weights(what):
    weight, said = BAD_TARGETS[what]
    for model in (ws.SVC(), ONLINE["svc"]()):
        with pytest.raises((ValueError, TypeError), match=f"^sample_weight contains {said}"):
            model.fit(NUMBERS[:, None], LABELS, sample_weight=weight)


@pytest.mark.parametrize("make", [ws.SVC, ws.NuSVC, ws.EnsembleSVC, ONLINE["svc"]])
def test_labels(make):
    """Text and dates are good labels; the others are named."""
    X = np.column_stack([NUMBERS, LABELS])
    for labels in (np.array(TEXT), np.array(TEXT, dtype=object)):
        assert set(make().fit(X, labels).predict(X)) <= set(TEXT)
    for labels, said in (
        (LABELS * 1j, "y contains complex numbers: .*pass real numbers"),
        (np.where(LABELS, np.nan, 0.0), "y contains NaN: drop those rows"),
        (np.where(LABELS, np.inf, 0.0), "y contains infinity: .*drop those rows"),
        (np.array([{}, "a"] * (N // 2)), "y: Unknown label type.*all text or all integers"),
        (NUMBERS, "y: Unknown label type: continuous.*all text or all integers"),
    ):
        with pytest.raises(ValueError, match=said):
            make().fit(X, labels)


@pytest.mark.parametrize(
    ("X", "y", "said"),
    [
        ([[1.0, 2.0], [3.0]], [0, 1], "X: all rows must have the same number of columns"),
        (np.zeros((N, 2)), [0, 1], "X and y: .*pass one label or target for each row"),
        (np.zeros(N), LABELS, "X: Expected 2D array"),
        (np.zeros((N, 2, 2)), LABELS, "X: Found array with dim 3"),
        (np.zeros((0, 2)), [], "X: Found array with 0 sample"),
        (np.zeros((N, 0)), LABELS, "X: Found array with 0 feature"),
        ({"a": [1, 2]}, [0, 1], "X: .*must be a string or a real number, not 'dict'"),
        (None, LABELS, "X: Expected 2D array"),
        (pd.DataFrame(np.zeros((N, 2)), columns=["a", "a"]), LABELS, "X: .*unique column names"),
    ],
)
def test_messages_about_shapes_name_the_parameter(X, y, said):
    with pytest.raises(ValueError, match=said):
        ws.SVC().fit(X, y)


def test_numbers_as_text_or_objects_are_numbers():
    X = np.column_stack([NUMBERS, LABELS])
    expected = ws.SVR().fit(X, NUMBERS).predict(X)
    for form in (X.astype(object), X.astype(str), pd.DataFrame(X).astype("category")):
        found = ws.SVR().fit(form, NUMBERS.astype(str)).predict(form)
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("error", [MemoryError, KeyboardInterrupt, DataConversionWarning])
def test_errors_that_are_not_about_values_come_through(error):
    with pytest.raises(error, match="elsewhere"), explained(np.full((2, 2), np.nan)):
        raise error("elsewhere")


# -- badly scaled features -----------------------------------------------------------------------


def warned_of(X, y, make=ws.SVC, **options) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        make(n_jobs=1, **options).fit(X, y)
    for warning in caught:
        assert issubclass(warning.category, UserWarning)
        assert warning.filename == __file__  # it points at the caller
    return [str(warning.message) for warning in caught]


SCALES = {
    "one of five": ([1, 1, 1e6, 1, 1], "column 2 varies"),
    "one of two": ([1e5, 1], "column 0 varies"),
    "one wide, one narrow": ([1, 1e6, 1, 1e-6, 1], "column 1 varies"),
    "half of them": ([1, 1e5, 1, 1e5], "columns 1, 3 vary at least"),
    "all but one": ([1e4, 1e4, 1], "hardly affected by column 2, because column"),
    "in steps": ([1, 1e2, 1e4], "hardly affected by column 0, because column 2 varies"),
    "many": ([1] * 9 + [1e5] * 8, "columns 9, 10, 11, 12, 13 and 3 more vary at least"),
}


@pytest.mark.parametrize("what", SCALES)
@pytest.mark.parametrize("form", [np.asarray, np.float32, sparse.csr_matrix])
def test_the_columns_that_dominate_are_named_once(what, form):
    scale, message = SCALES[what]
    X = np.random.default_rng(0).normal(size=(100, len(scale)))
    y = np.where(X[:, 0] > 0, 1, -1)
    (found,) = warned_of(form(X * np.array(scale)), y)
    assert message in found
    assert "StandardScaler" in found


EVERY = [ws.SVC, ws.NuSVC, ws.SVR, ws.NuSVR, ws.OneClassSVM, ws.EnsembleSVC, *ONLINE.values()]


@pytest.mark.parametrize("make", EVERY)
def test_every_machine_warns(make, rng):
    X = rng.normal(size=(60, 3))
    y = (X[:, 1] > 0).astype(int)
    (message,) = warned_of(X * [1, 1e5, 1], y, make, gamma=1e-10)
    assert "column 1 varies" in message
    assert warned_of(X, y, make, gamma=0.1) == []


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_an_online_machine_warns_once_there_are_rows_to_tell(form, rng):
    """A few rows say nothing of the scales; later rows do not repeat the warning."""
    X = rng.normal(size=(30, 3)) * [1, 1, 1e5]
    model = ONLINE["svr"](gamma=1e-10, n_jobs=1)
    found = []
    for i in range(30):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model.partial_fit(form(X[i : i + 1]), [float(i)])
        found += [(i, str(warning.message), warning.filename) for warning in caught]
    ((when, message, where),) = found
    assert when == 9
    assert "column 2 varies" in message
    assert where == __file__


def test_a_warning_that_is_an_error_leaves_the_machine_as_it_was(rng):
    X = rng.normal(size=(30, 2)) * [1, 1e5]
    model = ONLINE["svr"](gamma=1e-10).partial_fit(X[:5], np.arange(5.0))
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        with pytest.raises(UserWarning, match="column 1 varies"):
            model.partial_fit(X[5:], np.arange(25.0))
    assert model.n_rows_ == 5


def test_paths_warn(rng):
    X = rng.normal(size=(30, 2)) * [1, 1e5]
    y = np.arange(30) % 2
    for call in (
        lambda: ws.leave_one_out(ws.SVC(gamma=1e-10), X, y),
        lambda: ws.regularization_path(X, y, gamma=1e-10, C_min=0.5, C_max=1.0),
    ):
        with pytest.warns(UserWarning, match="column 1 varies") as caught:
            call()
        assert [warning.filename for warning in caught] == [__file__]


def test_columns_have_names(rng):
    frame = pd.DataFrame(rng.normal(size=(100, 3)) * [1, 1, 1e6], columns=["age", "sex", "income"])
    (message,) = warned_of(frame, np.where(frame["age"] > 0, 1, -1))
    assert "column 'income' varies" in message


def test_no_warning_without_a_reason(rng):
    X = rng.normal(size=(100, 4)) * [1, 3, 0.1, 0]  # one constant column
    y = np.where(X[:, 0] > 0, 1, -1)
    assert warned_of(X, y) == []
    assert warned_of(StandardScaler().fit_transform(X * 1e6), y) == []
    assert warned_of(X[:, :1] * 1e9, y) == []
    assert warned_of(*checkerboard(300, random_state=0), C=10.0) == []
    csr = sparse.random_array((100, 30), density=0.1, rng=rng, format="csr")
    assert warned_of(csr, y) == []


def test_missing_labels_of_pandas_are_named():
    pd = pytest.importorskip("pandas")
    y = pd.Series(["a", None, "b", "a"] * 3, dtype="string")
    with pytest.raises(ValueError, match="y contains missing labels"):
        ws.SVC().fit(np.eye(12), y)


@pytest.mark.parametrize("missing", [None, np.nan])
@pytest.mark.parametrize("label", ["a", 1])
def test_missing_labels_are_named(missing, label):
    y = np.array([label, missing] * 4, dtype=object)
    with pytest.raises(ValueError, match=r"y contains (missing labels|NaN)"):
        ws.SVC().fit(np.arange(8.0)[:, None], y)
