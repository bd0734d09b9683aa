"""Preprocessing by the kinds of the columns, and as code."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler

import widestreet as ws
from conftest import TOL
from support.machines import assert_same_function
from support.tables import people
from widestreet.cli.preprocessing import as_python, doubts_about, transformer_for


def test_numbers_are_imputed_and_scaled_and_text_is_encoded():
    X = people()[["age", "income", "city"]]
    found = transformer_for(X).fit_transform(X)
    assert found.shape == (len(X), 6)  # a column for missing cities
    np.testing.assert_allclose(found[:, :2].mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(found[:, :2].std(axis=0), 1.0)
    assert set(np.unique(found[:, 2:])) == {0.0, 1.0}
    np.testing.assert_array_equal(found[:, 2:].sum(axis=1), 1.0)
    np.testing.assert_array_equal(found[:, 5], X["city"].isna())


def test_new_values_of_text_do_not_stop_predictions():
    X = people()[["age", "city"]]
    made = transformer_for(X).fit(X)
    new = X.head(1).assign(city="Geneva")
    np.testing.assert_array_equal(made.transform(new)[0, 1:], 0.0)


@pytest.mark.parametrize("columns", [["age", "income"], ["city"]])
def test_one_kind_only(columns):
    X = people()[columns]
    assert np.isfinite(transformer_for(X).fit_transform(X)).all()


def test_arrays_and_sparse_rows():
    X = np.array([[1.0, np.nan], [3.0, 4.0], [5.0, 6.0]])
    np.testing.assert_allclose(transformer_for(X).fit_transform(X).mean(axis=0), 0.0, atol=1e-12)
    assert isinstance(transformer_for(sparse.csr_matrix(X)), MaxAbsScaler)


def test_columns_that_are_no_categories_are_named():
    X = people()
    X["name"] = [f"person {k}" for k in range(len(X))]
    (doubt,) = doubts_about(X)
    assert "--drop name" in doubt
    assert doubts_about(np.zeros((2, 2))) == []


def test_dates_are_refused():
    pandas = pytest.importorskip("pandas")
    X = people(10).assign(day=pandas.Timestamp("2026-01-01"), end=pandas.Timestamp("2026-01-02"))
    with pytest.raises(ValueError, match=r"'day', 'end' contain dates.*--drop day --drop end"):
        transformer_for(X)


@pytest.mark.parametrize("day", ["2020-01-01", "2020-01-01T10:00:00", "1/2/2020", "31.12.2020"])
def test_text_of_dates_is_refused(day):
    X = people(10).assign(day=[None, *[day] * 9])
    with pytest.raises(ValueError, match=r"'day' contains dates or times.*--drop day"):
        transformer_for(X)
    X.loc[1, "day"] = "never"
    assert transformer_for(X).fit_transform(X).shape[0] == 10


def test_whole_numbers_that_are_all_different_are_named():
    X = people()[["age", "city"]].assign(number=np.arange(120), count=np.arange(120) % 7)
    (doubt,) = doubts_about(X)
    assert "--drop number" in doubt


def test_the_code_makes_the_same_model():
    frame = people()
    X, y = frame[["age", "income", "city"]], frame["label"].to_numpy()
    machine = ws.SVC(C=3.0, gamma=0.1, tol=TOL.twins)
    model = Pipeline([("preprocessing", transformer_for(X)), ("svc", machine)])
    known: dict[str, object] = {}
    exec(as_python(model), known)
    made = known["model"]
    assert_same_function(made.fit(X, y), model.fit(X, y), X)
