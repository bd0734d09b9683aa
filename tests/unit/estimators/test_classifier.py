"""The predict side of classifiers: blocks of rows, votes, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import widestreet as ws
from support.class_pairs import clouds, machine, ovo
from widestreet._src.estimators import classifier
from widestreet._src.problems.class_pairs import PairLayout
from widestreet.online import OnlineNuSVC, OnlineSVC


@pytest.mark.parametrize("break_ties", [False, True])
def test_predicting_in_pieces_is_predicting_at_once(break_ties, monkeypatch):
    X, y = clouds()
    model = machine(break_ties=break_ties).fit(X, y)
    whole = model.predict(X)
    monkeypatch.setattr(classifier, "_SMALLEST_BLOCK", 7)
    monkeypatch.setattr(classifier, "_BLOCK_VALUES", 60)
    assert np.array_equal(model.predict(X), whole)
    values = ovo(model, X)
    expected = (
        PairLayout(4).one_vs_rest(values).argmax(axis=1)
        if break_ties
        else PairLayout(4).most_votes(values)
    )
    assert np.array_equal(whole, expected)
    if break_ties:
        with pytest.raises(ValueError, match="break_ties must be False"):
            model.predict(X)  # asked for the values of pairs


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("make", [ws.SVC, ws.NuSVC, ws.EnsembleSVC, OnlineSVC, OnlineNuSVC])
def test_a_bad_shape_of_decision_values_is_refused(make, classes):
    X = np.arange(12.0)[:, None]
    y = np.arange(12) * classes // 12
    model = make(gamma=1.0).fit(X, y).set_params(decision_function_shape="ovx")
    for call in (lambda: model.decision_function(X), lambda: model.fit(X, y)):
        with pytest.raises(ValueError, match="decision_function_shape must be one of 'ovr', 'ovo'"):
            call()
