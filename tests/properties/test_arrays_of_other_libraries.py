"""Arrays of other libraries as X, y and weights: the same models, predictions where X is."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import config_context

import widestreet as ws
from conftest import KINDS, OF_THREE, TOL
from support.devices import DEVICES, ForeignArray, PlainDevice, device_of, use
from support.fitting import decision
from support.machines import CLASSIFIERS, assert_same_function, assert_same_objective, data, machine
from support.problems import toy_svc
from widestreet._src.engines.working_set import state_of_rounds

pytestmark = [
    pytest.mark.filterwarnings("ignore:the margin is zero"),
    pytest.mark.in_process("rows that were pickled are no longer on a device"),
]


@pytest.mark.parametrize("where", DEVICES)
@pytest.mark.parametrize("kind", KINDS)
def test_rows_on_a_device(where, kind, monkeypatch):
    use(monkeypatch, device_of(where))
    X, y = data(kind)
    target = None if y is None else ForeignArray(y)
    weight = np.linspace(0.5, 1.0, len(X))
    one = machine(kind, device="cuda").fit(X, y, weight)
    other = machine(kind, device="cuda").fit(ForeignArray(X), target, ForeignArray(weight))
    assert_same_objective(one, other)
    assert_same_function(one, other, X)
    for name in ("support_", "support_vectors_", "dual_coef_", "intercept_"):
        assert isinstance(getattr(other, name), np.ndarray)
    there, expected = decision(other, ForeignArray(X)), decision(other, X)
    assert isinstance(there, ForeignArray)
    assert there.device == "gpu"
    size = np.abs(expected).max()
    np.testing.assert_allclose(there.values, expected, rtol=0, atol=TOL.twin * size)
    if kind in CLASSIFIERS:
        np.testing.assert_array_equal(other.predict(ForeignArray(X)).values, other.predict(X))
        assert other.score(ForeignArray(X), target) == other.score(X, y)
    if kind == "one_class":
        samples = other.score_samples(ForeignArray(X)).values
        np.testing.assert_allclose(samples, other.score_samples(X), atol=TOL.twin * size)


@pytest.mark.parametrize("kernel", ["linear", "poly", "laplacian", "sigmoid"])
def test_kernels(kernel, monkeypatch):
    device = use(monkeypatch, PlainDevice())
    X, y = data("svc" + OF_THREE, 600)
    model = machine("svc" + OF_THREE, device="cuda", kernel=kernel, gamma=0.1, coef0=1.0)
    model.fit(ForeignArray(X), y)
    device.read.clear()
    found = model.decision_function(ForeignArray(X)).values
    size = np.abs(found).max()
    np.testing.assert_allclose(found, model.decision_function(X), rtol=0, atol=TOL.twin * size)
    assert sum(device.read) <= 300  # a sample, whose zeros are counted


def test_rows_stay_on_the_device(monkeypatch, by_rounds):
    device = use(monkeypatch, PlainDevice())
    monkeypatch.setattr(state_of_rounds, "FEW_FOR_DEVICE", 0)
    monkeypatch.setattr("widestreet._src.estimators.columns._SAMPLE_ROWS", 100)
    problem = toy_svc(2000, 3)
    model = ws.SVC(device="cuda", random_state=0).fit(ForeignArray(problem.X), problem.y)
    assert model.certificate_.status == "optimal"
    assert device.works
    assert max(device.read) <= max(len(model.support_), 500)  # samples, and the support vectors


@pytest.mark.parametrize("gamma", ["scale", "auto"])
@pytest.mark.parametrize("make", [ws.SVC, ws.EnsembleSVC])
def test_gamma_from_rows_on_a_device(make, gamma, monkeypatch):
    use(monkeypatch, PlainDevice())
    X, y = data("svc")
    given = {"gamma": gamma, "device": "cuda"}
    one, other = (make(**given).fit(rows, y) for rows in (X, ForeignArray(X)))
    assert other._gamma == pytest.approx(one._gamma, rel=TOL.twin)


@pytest.mark.parametrize(("device", "rows"), [("cpu", 60), ("auto", 60)])
def test_rows_that_the_cpu_trains_on_are_copied(device, rows, monkeypatch):
    plain = use(monkeypatch, PlainDevice())
    X, y = data("svc", rows)
    one = machine("svc").fit(X, y)
    other = machine("svc", device=device).fit(ForeignArray(X), y)
    assert_same_function(one, other, X)
    assert plain.scans == []
    assert isinstance(other.predict(ForeignArray(X)), ForeignArray)


def test_text_labels_come_back_on_the_host(monkeypatch):
    use(monkeypatch, PlainDevice())
    X, y = data("svc")
    names = np.where(y > 0, "yes", "no")
    model = machine("svc", device="cuda").fit(ForeignArray(X), names)
    assert set(model.predict(ForeignArray(X))) == {"yes", "no"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X: X.__setitem__((3, 1), np.nan), "X contains NaN in column 1"),
        (lambda X: X.__setitem__((3, 0), np.inf), "X contains infinity in column 0"),
        (lambda X: X.__imul__(1e20), "X contains values as large as"),
    ],
)
def test_bad_values_are_named(change, message, monkeypatch):
    use(monkeypatch, PlainDevice())
    X, y = data("svc")
    X = X.copy()
    change(X)
    with pytest.raises(ValueError, match=message):
        machine("svc", device="cuda").fit(ForeignArray(X), y)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (np.ones(4), "Expected 2D array"),
        (np.ones((0, 2)), "0 sample"),
        (np.ones((4, 0)), "0 feature"),
        (np.ones((5, 2)), "inconsistent numbers of samples"),
    ],
)
def test_bad_shapes_are_named(rows, message, monkeypatch):
    use(monkeypatch, PlainDevice())
    with pytest.raises(ValueError, match=message):
        ws.SVC(device="cuda").fit(ForeignArray(rows), [0, 1, 0, 1])


def test_queries_are_checked(monkeypatch):
    use(monkeypatch, PlainDevice())
    X, y = data("svc")
    model = machine("svc", device="cuda").fit(ForeignArray(X), y)
    with pytest.raises(ValueError, match=f"X has 1 features, but SVC is expecting {X.shape[1]}"):
        model.predict(ForeignArray(X[:, :1]))
    X = np.where(np.arange(len(X))[:, None] == 5, np.nan, X)
    with pytest.raises(ValueError, match="X contains NaN"):
        model.predict(ForeignArray(X))


@pytest.mark.parametrize("kind", ["svc", "svr"])
def test_start_from_another_model(kind, monkeypatch):
    use(monkeypatch, PlainDevice())
    X, y = data(kind)
    one = machine(kind, device="cuda").fit(X, y)
    other = machine(kind, device="cuda").fit(ForeignArray(X), y, start=one)
    assert_same_objective(one, other)


@pytest.mark.parametrize("kind", ["svc", "svr"])
def test_tensors_of_the_host(kind, monkeypatch):
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    torch = pytest.importorskip("torch")
    X, y = data(kind)
    rows, target = torch.tensor(X, requires_grad=True), torch.tensor(y)
    one, other = machine(kind).fit(X, y), machine(kind).fit(rows, target)
    np.testing.assert_array_equal(one.dual_coef_, other.dual_coef_)
    assert isinstance(other.predict(rows), np.ndarray)
    assert other.score(rows, target) == one.score(X, y)
    with config_context(array_api_dispatch=True):
        again = machine(kind).fit(rows, target)
        found = again.predict(rows)
        assert isinstance(found, torch.Tensor)
        assert again.score(rows, target) == one.score(X, y)
    np.testing.assert_array_equal(found.numpy(), one.predict(X))
    assert isinstance(again.dual_coef_, np.ndarray)


def test_tensors_of_a_gpu(monkeypatch):
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("there is no GPU")
    use(monkeypatch, device_of("triton"))
    X, y = data("svc")
    rows, target = torch.tensor(X, device="cuda"), torch.tensor(y, device="cuda")
    for device in ("cpu", "cuda"):
        model = machine("svc", device=device).fit(rows, target)
        found = model.predict(rows)
        assert found.is_cuda
        np.testing.assert_array_equal(found.cpu().numpy(), model.predict(X))
        assert model.score(rows, target) == model.score(X, y)


@pytest.mark.parametrize("where", DEVICES)
@pytest.mark.parametrize(
    ("values", "said"),
    [
        (np.ones((0, 2)), "0 sample"),
        (np.ones((4, 0)), "0 feature"),
        (np.ones(4), "1D array|one-dimensional|2D array"),
        (np.ones((4, 2)) + 1j, "[Cc]omplex"),
    ],
)
def test_arrays_on_a_device_that_are_no_rows_are_refused(where, values, said, monkeypatch):
    use(monkeypatch, device_of(where))
    with pytest.raises(ValueError, match=said):
        ws.SVR(device="cuda").fit(ForeignArray(values), np.arange(float(len(values))))
