"""The SVM within an estimator that contains one."""

from __future__ import annotations

import pytest
from sklearn.exceptions import NotFittedError

import widestreet as ws
from support.machines import data
from widestreet._src.estimators.contained import svm_of


def test_the_svm_of_an_estimator():
    X, y = data("svc")
    tuned, svm = ws.SVCCV(Cs=[1.0], gammas=[0.5], cv=3), ws.SVC()
    with pytest.raises(NotFittedError):
        svm_of(tuned)
    assert svm_of(tuned.fit(X, y)) is tuned.best_estimator_
    for other in (svm, ws.CalibratedSVC(), "text"):
        assert svm_of(other) is other
