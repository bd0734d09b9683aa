"""The SVM within an estimator that contains one."""

from __future__ import annotations

import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import widestreet as ws
from support.machines import data
from widestreet._src.estimators.contained import require_exportable, svm_of


def test_the_svm_of_an_estimator():
    X, y = data("svc")
    tuned, svm = ws.SVCCV(Cs=[1.0], gammas=[0.5], cv=3), ws.SVC()
    with pytest.raises(NotFittedError):
        svm_of(tuned)
    assert svm_of(tuned.fit(X, y)) is tuned.best_estimator_
    for other in (svm, ws.CalibratedSVC(), "text"):
        assert svm_of(other) is other


@pytest.mark.parametrize(
    ("kind", "model", "what"),
    [("svc", ws.CalibratedSVC(), "probabilities"), ("svr", ws.IntervalSVR(), "intervals")],
)
def test_what_is_added_to_an_svm_is_not_exported(kind, model, what, tmp_path):
    pytest.importorskip("onnx")
    X, y = data(kind, 60)
    message = rf"pass model\.estimator_; {what} are not exported"
    with pytest.raises(TypeError, match=message):
        require_exportable(model)  # fitted or not
    model = clone(model).fit(X, y)
    with pytest.raises(TypeError, match=message):
        ws.io.to_onnx(model)
    with pytest.raises(TypeError, match=message):
        ws.io.to_libsvm(model, tmp_path / "a.model")
    with pytest.raises(TypeError, match=r"explain needs the SVM.*pass model\.estimator_"):
        ws.explain(model, X[:2], X)
    require_exportable(model.estimator_)
    assert ws.io.to_onnx(model.estimator_).graph.node
    assert ws.explain(model.estimator_, X[:2], X[:5]).values.shape == X[:2].shape
