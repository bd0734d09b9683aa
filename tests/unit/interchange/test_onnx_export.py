"""Models as ONNX: evaluated by two runtimes, with the decision values of the model."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from scipy import sparse

import widestreet as ws
from conftest import TOL
from support.fitted_models import fitted, names, online_names
from support.fitting import decision
from support.machines import data
from widestreet.io import to_onnx

onnx = pytest.importorskip("onnx")


def by_runtime(made, X):
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, {"X": X})


def by_reference(made, X):
    from onnx.reference import ReferenceEvaluator

    return ReferenceEvaluator(made).run(None, {"X": X})


RUNTIMES = {"onnxruntime": by_runtime, "reference": by_reference}


def dense(X, dtype=np.float64):
    return np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=dtype)


def assert_same(model, found, X, rtol=TOL.onnx):
    """Equal up to `rtol` of the decision values, and rounding of the sums that they are."""
    expected = decision(model, X)
    scale = max(1.0, float(np.abs(expected).max()), 0.1 * np.abs(model.dual_coef_).sum())
    assert found[-1].shape == expected.shape
    np.testing.assert_allclose(found[-1], expected, rtol=0, atol=rtol * scale)
    if len(found) == 2:
        ties = np.abs(expected).reshape(len(expected), -1).min(axis=1) <= rtol * scale
        assert np.array_equal(found[0][~ties], model.predict(X)[~ties])


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_every_model_decides_as_before(runtime):
    for name in names() + online_names():
        model, _, _, new = fitted(name)
        made = to_onnx(model)
        assert {one.domain for one in made.opset_import} == {""}, name
        assert [one.name for one in made.graph.input] == ["X"], name
        assert_same(model, RUNTIMES[runtime](made, dense(new)), new)


@pytest.mark.parametrize("runtime", RUNTIMES)
@pytest.mark.parametrize("kernel", ["rbf", "poly", "sigmoid", "laplacian"])
def test_numbers_that_float32_cannot_hold_stay_exact(kernel, runtime):
    """onnxruntime fuses some products with a number and keeps that as a float32."""
    X, y = data("svr")
    X = X + 50.0 * (kernel in ("rbf", "laplacian"))
    given = {"gamma": 0.03, "coef0": 0.7, "degree": 3}
    model = ws.SVR(kernel=kernel, C=10.0, **given).fit(X, y)
    assert_same(model, RUNTIMES[runtime](to_onnx(model), X), X)


LABELS = ([3, -7], ["no", "yes"], [False, True], [0.5, 1.5], [2, 5, 9, 11], ["c", "d", "e"])


@pytest.mark.parametrize("labels", LABELS, ids=str)
def test_labels_of_any_type(labels):
    rng = np.random.default_rng(0)
    code = np.arange(80) % len(labels)
    X = rng.standard_normal((80, 4)) + np.eye(4)[code]
    with_labels = ws.SVC(break_ties=True).fit(X, code)
    with_labels.classes_ = np.array(labels)
    for runtime in RUNTIMES.values():
        found = runtime(to_onnx(with_labels), X)[0]
        assert found.tolist() == with_labels.predict(X).tolist()


@pytest.mark.parametrize(("shape", "break_ties"), [("ovr", False), ("ovr", True), ("ovo", False)])
def test_votes_and_scores_of_several_classes(shape, break_ties):
    X, _ = data("svc of three")
    model = ws.SVC(decision_function_shape=shape, break_ties=break_ties).fit(X, np.arange(120) % 4)
    for runtime in RUNTIMES.values():
        assert_same(model, runtime(to_onnx(model), X), X)


def test_ties_go_to_the_first_class():
    X, _ = data("svc of three")
    model = ws.SVC().fit(X, np.arange(120) % 3)
    model.dual_coef_[:] = 0.0
    model.intercept_[:] = [1.0, -1.0, 1.0]  # a vote for each class
    for runtime in RUNTIMES.values():
        assert set(runtime(to_onnx(model), X)[0].tolist()) == {0} == set(model.predict(X).tolist())
    two = ws.SVC().fit(X, np.arange(120) % 2)
    two.dual_coef_[:] = two.intercept_[:] = 0.0
    for runtime in RUNTIMES.values():
        assert set(runtime(to_onnx(two), X)[0].tolist()) == {1} == set(two.predict(X).tolist())


def test_half_the_size_on_request():
    X, y = data("svc")
    model = ws.SVC().fit(X, y)
    small, large = to_onnx(model, precision="float32"), to_onnx(model)
    sizes = [max(len(c.raw_data) for c in made.graph.initializer) for made in (small, large)]
    assert 2 * sizes[0] == sizes[1] > 0
    for runtime in RUNTIMES.values():
        assert_same(model, runtime(small, dense(X, np.float32)), X, TOL.onnx_float32)
    with pytest.raises(ValueError, match="precision must be"):
        to_onnx(model, precision="float16")


def test_one_row_and_no_rows():
    model, X, _, _ = fitted("svr/laplacian/dense")
    for rows in (X[:1], X[:0]):
        found = by_runtime(to_onnx(model), np.ascontiguousarray(rows))[0]
        assert found.shape == (len(rows),)


def test_what_cannot_be_written_is_named(monkeypatch):
    X, y = data("svc")
    with pytest.raises(TypeError, match="Python function"):
        to_onnx(ws.SVC(kernel=lambda A, B: A @ B.T).fit(X, y))
    with pytest.raises(TypeError, match="estimator of widestreet"):
        to_onnx("model")
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"widestreet\[onnx\]"):
        to_onnx(ws.SVC().fit(X, y))


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_vectors_on_the_boundary_are_inside_in_float32(runtime, rng):
    X = rng.normal(size=(300, 4)).astype(np.float32)
    model = ws.OneClassSVM(nu=0.3).fit(X)
    free = model.support_vectors_[np.abs(model.decision_function(model.support_vectors_)) == 0]
    assert len(free) > 3
    labels, values = RUNTIMES[runtime](to_onnx(model, precision="float32"), free)
    assert (labels == 1).all()
    assert (values == 0).all()
