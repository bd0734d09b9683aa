"""Training of classifiers on all rows at once."""

from __future__ import annotations

import numpy as np
import pytest

import widestreet as ws
from conftest import TOL
from support.fitting import decision
from support.machines import CLASSIFIERS, assert_same_function, data, machine

pytestmark = pytest.mark.numeric


def test_rows_of_pairs_of_classes():
    X = np.repeat(np.random.default_rng(0).normal(size=(30, 2)), 2, axis=0)
    y = np.repeat([0, 1, 2], [10, 20, 30])
    for model in (ws.SVC(), ws.EnsembleSVC()):
        certificates = model.fit(X, y).certificates_
        assert [c.n_rows for c in certificates] == [30, 40, 50]
        assert [c.n_distinct_rows for c in certificates] == [15, 20, 25]


@pytest.mark.parametrize("kind", ["svc", "nu_svc"])
@pytest.mark.parametrize(
    ("negative", "positive"),
    [("ham", "spam"), (False, True), (0, 1), (3, 7), (0.0, 1.0), (np.uint8(1), np.uint8(2))],
)
def test_labels_of_any_kind(kind, negative, positive):
    X, y = data(kind)
    labels = np.where(y > 0, np.asarray(positive), np.asarray(negative))
    model = machine(kind).fit(X, labels)
    assert model.classes_.tolist() == [negative, positive]
    np.testing.assert_array_equal(model.predict(X) == positive, model.decision_function(X) > 0)
    assert model.predict(X).dtype == labels.dtype
    assert_same_function(model, machine(kind).fit(X, y), X)


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_exchanging_the_labels_negates_the_function(kind):
    """Of several pairs, which are then in the opposite order."""
    X, y = data(kind)
    one, other = machine(kind).fit(X, y), machine(kind).fit(X, -y)
    values = [decision(model, X).reshape(len(y), -1) for model in (one, other)]
    assert np.abs(values[0] + values[1][:, ::-1]).max() <= TOL.decision
