"""Bad input: an error that names the parameter, or a warning that names the columns."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

import widestreet as ws
from conftest import KINDS, OF_THREE
from reference import duals, kernels, kkt
from support.fitting import beta_of, cut_short
from support.machines import CLASSIFIERS, any_street, data, machine
from support.problems import toy_svc
from widestreet.strategies import Auto

WRONG = (ValueError, TypeError)
SUPERVISED = tuple(kind for kind in KINDS if kind != "one_class")


# -- parameters --------------------------------------------------------------------------------

PARAMETERS = {
    "C": [0, -1.0, np.nan, np.inf, "1", None, True, 1j, [1.0]],
    "gamma": [-1.0, np.nan, np.inf, "wide", None, True],
    "tol": [0, -1e-3, np.nan, np.inf, "small", None, 10**400],
    "kernel": ["cubic", "RBF", None, 3, ["rbf"], np.array(["rbf", "poly"])],
    "strategy": ["best", "", None, 3, Auto],
    "device": ["tpu", "gpu", "", None],
    "on_interrupt": ["stop", None, True],
    "max_iter": [0, -2, 1.5, "many", None, True, np.array([1, 2])],
    "max_time": [0, -1.0, np.nan, np.inf, "1s"],
    "max_memory": [0, -1, 1000, "10KB", "lots", "5 parsecs", True, np.nan, 10**400],
    "cache_size": [0, -1, np.nan, "200", 1e-3],
    "n_jobs": [0, 1.5, "all", True],
    "verbose": ["loud", None, -1],
    "random_state": ["seed", -1, 1.5, [1.5]],
    "shrinking": ["yes", 1, None],
    "warm_start": ["yes", 1, None],
    "epsilon": [-0.1, np.nan, np.inf, "wide", None, True],
    "decision_function_shape": ["ovx", "", None, True],
    "break_ties": ["yes", 1, None],
}


def bad_parameters():
    """Of each kind of machine, those that it has."""
    for kind in KINDS:
        known = machine(kind).get_params()
        yield from ((kind, name) for name in PARAMETERS if name in known)


@pytest.mark.parametrize(("kind", "name"), list(bad_parameters()))
def test_a_bad_parameter_is_named(kind, name, capfd):
    X, y = data(kind)
    for value in PARAMETERS[name]:
        with pytest.raises(WRONG, match=rf"\b{name}\b"):
            machine(kind, **{name: value}).fit(X, y)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("name", "value"),
    [("degree", -1), ("degree", 1.5), ("degree", "two"), ("coef0", np.nan), ("coef0", "one")],
)
def test_bad_parameters_of_a_kernel(kind, name, value):
    with pytest.raises(WRONG, match=name):
        machine(kind, kernel="poly", **{name: value}).fit(*data(kind))


@pytest.mark.parametrize(
    "value",
    ["heavy", [1, 2], {5: 1.0}, {1: -1.0}, {1: np.nan}, {1: np.inf}, {1: 0.0, -1: 0.0}, {1: 0.0}],
)
@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_bad_class_weight(kind, value):
    """A class whose weight is zero is a class that is not there."""
    with pytest.raises(WRONG, match="class_weight"):
        machine(kind, class_weight=value).fit(*data(kind))


def test_memory_that_is_too_small_says_how_much_is_needed(kind):
    X, y = data(kind)
    with pytest.raises(ValueError, match=r"max_memory=.*at least ([0-9,]+) bytes") as caught:
        machine(kind, max_memory="1KB").fit(X, y)
    needed = int(str(caught.value).split("at least ")[1].split(" ")[0].replace(",", ""))
    assert machine(kind, max_memory=needed).fit(X, y).certificate_.status == "optimal"
    with pytest.raises(ValueError, match="max_memory"):
        machine(kind, max_memory=needed - 1).fit(X, y)


def test_parameters_are_checked_when_fitting_and_kept_as_they_are(kind):
    model = machine(kind, tol=-1.0, kernel="cubic")
    assert model.get_params()["tol"] == -1.0
    assert model.set_params(kernel="rbf").kernel == "rbf"


def test_parameters_go_by_name():
    with pytest.raises(TypeError, match=r"write SVC\(C=10\)"):
        ws.SVC(10)
    with pytest.raises(TypeError, match=r"write OneClassSVM\(kernel='rbf'\)"):
        ws.OneClassSVM("rbf")

    class Scaled(ws.SVC):
        def __init__(self, factor, *, C=1.0):
            super().__init__(C=factor * C)

    assert Scaled(3.0).C == 3.0


# -- rows --------------------------------------------------------------------------------------


def with_entry(value):
    def change(X):
        X = X.copy()
        X[3, 1] = value
        return X

    return change


BAD_ROWS = {
    "NaN": (with_entry(np.nan), "X contains NaN"),
    "infinity": (with_entry(-np.inf), "X contains infinity"),
    "NaN in CSR": (lambda X: sparse.csr_matrix(with_entry(np.nan)(X)), "X contains NaN"),
    "infinity in float32": (lambda X: with_entry(np.inf)(X.astype(np.float32)), "X contains inf"),
    "no rows": (lambda X: X[:0], "X: .*0 sample"),
    "no columns": (lambda X: X[:, :0], "X: .*0 feature"),
    "one dimension": (lambda X: X[:, 0], "X: .*Expected 2D array"),
    "three dimensions": (lambda X: X[:, :, None], "X: .*dim 3"),
    "too many rows": (lambda X: np.vstack([X, X]), "X and y: .*inconsistent numbers"),
    "complex": (lambda X: X * 1j, "X contains complex numbers"),
    "complex CSR": (lambda X: sparse.csr_matrix(X * 1j), "X contains complex numbers"),
    "strings": (lambda X: np.full(X.shape, "a"), "X contains text"),
    "objects": (lambda X: np.full(X.shape, {}, dtype=object), "X contains objects of type dict"),
    "nothing": (lambda X: None, "X: .*Expected 2D array"),
}


@pytest.mark.parametrize("what", BAD_ROWS)
def test_bad_rows(kind, what):
    X, y = data(kind)
    if kind == "one_class" and what == "too many rows":
        return  # there is nothing to compare their number with
    change, message = BAD_ROWS[what]
    with pytest.raises(WRONG, match=message):
        machine(kind).fit(change(X), y if what != "no rows" else y[:0])


@pytest.mark.parametrize(
    "what", [what for what in BAD_ROWS if what not in ("no rows", "too many rows")]
)
def test_bad_rows_to_predict(kind, what):
    X, y = data(kind)
    change, _ = BAD_ROWS[what]
    with pytest.raises(WRONG):
        machine(kind).fit(X, y).predict(change(X))


def test_predicting_without_a_fit(kind):
    with pytest.raises(NotFittedError):
        machine(kind).predict(data(kind)[0])


# -- labels and targets ------------------------------------------------------------------------


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_one_class_only(kind):
    X, y = data(kind)
    with pytest.raises(ValueError, match=r"y: .*same class.*1 class.*two"):
        machine(kind).fit(X, np.ones_like(y))
    with pytest.raises(ValueError, match=r"y: .*positive weights.*1 class"):
        machine(kind).fit(X, y, sample_weight=(y == 1).astype(float))


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_targets_of_a_regression_are_no_classes(kind):
    X, _ = data(kind)
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        machine(kind).fit(X, X[:, 0])


@pytest.mark.parametrize("kind", ["svc" + OF_THREE, "nu_svc" + OF_THREE])
def test_ties_can_be_broken_between_classes_only(kind):
    X, y = data(kind)
    model = machine(kind, break_ties=True).fit(X, y)
    with pytest.raises(ValueError, match=r"break_ties.*decision_function_shape"):
        model.predict(X)
    model.set_params(decision_function_shape="ovr")
    np.testing.assert_array_equal(model.predict(X), model.decision_function(X).argmax(axis=1))


BAD_TARGETS = {
    "NaN": lambda y: np.where(np.arange(len(y)) == 3, np.nan, y),
    "infinity": lambda y: np.where(np.arange(len(y)) == 3, np.inf, y),
    "complex": lambda y: y * 1j,
    "too few": lambda y: y[:-1],
    "two columns": lambda y: np.stack([y, y], axis=1),
    "nothing": lambda y: None,
    "objects": lambda y: np.full(len(y), {}, dtype=object),
}


@pytest.mark.parametrize("kind", SUPERVISED)
@pytest.mark.parametrize("what", BAD_TARGETS)
def test_bad_targets(kind, what):
    X, y = data(kind)
    with pytest.raises(WRONG):
        machine(kind).fit(X, BAD_TARGETS[what](y))


# -- weights -----------------------------------------------------------------------------------

BAD_WEIGHTS = {
    "negative": lambda n: np.where(np.arange(n) == 3, -1e-9, 1.0),
    "NaN": lambda n: np.where(np.arange(n) == 3, np.nan, 1.0),
    "infinite": lambda n: np.where(np.arange(n) == 3, np.inf, 1.0),
    "infinite when added up": lambda n: np.full(n, 1e308),
    "all zero": np.zeros,
    "too few": lambda n: np.ones(n - 1),
    "too many": lambda n: np.ones(n + 1),
    "a column": lambda n: np.ones((n, 1)),
    "strings": lambda n: ["heavy"] * n,
    "complex": lambda n: np.ones(n) * 1j,
    "objects": lambda n: np.full(n, {}, dtype=object),
    "a negative number": lambda n: -1.0,
    "beyond the digits of float64": lambda n: np.full(n, 1e150),
    "denormal": lambda n: np.full(n, 5e-324),
    "integers beyond float64": lambda n: [10**400] * n,
    "ragged": lambda n: [[1.0], [1.0, 2.0]] * (n // 2),
}


@pytest.mark.parametrize("what", BAD_WEIGHTS)
def test_bad_weights(kind, what):
    X, y = data(kind)
    with pytest.raises(WRONG, match="sample_weight"):
        machine(kind).fit(X, y, sample_weight=BAD_WEIGHTS[what](len(y)))


# -- kernels given by the user -----------------------------------------------------------------


@any_street
def test_bad_kernel_matrices(kind, rng):
    X, y = data(kind)
    K = X @ X.T
    model = machine(kind, kernel="precomputed")
    with pytest.raises(ValueError, match=r"X must be a square matrix.*precomputed"):
        model.fit(K[:, :-1], y)
    with pytest.raises(ValueError, match=r"not symmetric.*precomputed.*K \+ K.T"):
        model.fit(np.triu(K), y)
    slightly = K.copy()
    slightly[2, 70] *= 1.01
    with pytest.raises(ValueError, match="not symmetric"):
        model.fit(slightly, y)
    with pytest.raises(TypeError, match="Sparse"):
        model.fit(sparse.csr_matrix(K), y)
    with pytest.raises(ValueError, match="NaN"):
        model.fit(np.where(np.eye(len(y)) > 0, np.nan, K), y)
    rounded = K * (1 + 1e-15 * rng.standard_normal(K.shape))  # what a product may leave
    with pytest.raises(ValueError, match=f"expecting {len(y)} features"):
        model.fit(rounded, y).predict(X)


BAD_KERNELS = {
    "A against A": lambda A, B: A @ A.T,
    "a vector": lambda A, B: np.ones(len(A)),
    "nothing": lambda A, B: None,
    "NaN": lambda A, B: np.full((len(A), len(B)), np.nan),
    "infinity": lambda A, B: np.full((len(A), len(B)), np.inf),
    "complex": lambda A, B: A @ B.T * 1j,
    "strings": lambda A, B: np.full((len(A), len(B)), "x"),
}


@pytest.mark.parametrize("what", BAD_KERNELS)
def test_a_callable_that_returns_the_wrong_thing(kind, what):
    X, y = data(kind)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(WRONG, match="kernel"):
            machine(kind, kernel=BAD_KERNELS[what]).fit(X, y)


def test_errors_of_a_callable_come_through(kind):
    def kernel(A, B):
        raise RuntimeError("the network is down")

    with pytest.raises(RuntimeError, match="the network is down"):
        machine(kind, kernel=kernel).fit(*data(kind))


def test_a_callable_that_is_not_symmetric_ends_and_is_judged_honestly(task):
    """It cannot be checked without computing all of it, but the certificate sees what comes out."""
    X, y = data(task)

    def kernel(A, B):
        return A @ B.T + 3.0 * A.sum(axis=1)[:, None]

    with cut_short():
        model = machine(task, kernel=kernel).fit(X, y)
    assert model.certificate_.status in ("optimal", "stalled")
    K = kernel(X, X)
    box = np.full(len(y), model.C)
    qp = duals.c_svc(K, y, box) if task == "svc" else duals.eps_svr(K, y, box, model.epsilon)
    if model.certificate_.status == "optimal":
        assert kkt.kkt_violation(K, duals.in_beta_space(qp), beta_of(model)) <= 2 * model.tol


# -- huge numbers ------------------------------------------------------------------------------


HUGE = {
    "float32, squares overflow": (np.float32, 1e22),
    "float32, largest": (np.float32, 1e37),
    "float64, no digits left": (np.float64, 1e30),
    "float64, squares overflow": (np.float64, 1e200),
}


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf", "sigmoid", "laplacian"])
@pytest.mark.parametrize("what", HUGE)
def test_huge_numbers(what, kernel):
    """Refused, or judged honestly; no warning of an overflow, and no fit that never ends."""
    dtype, size = HUGE[what]
    problem = toy_svc(61)
    X, y = (problem.X * size).astype(dtype), problem.y
    model = ws.SVC(C=10.0, kernel=kernel, gamma=1.0, n_jobs=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        warnings.simplefilter("ignore", UserWarning)
        try:
            model.fit(X, y)
        except ValueError as error:
            assert "X" in str(error)  # noqa: PT017 - an error is one of two good answers
            return
    assert model.certificate_.status in ("optimal", "stalled")
    if model.certificate_.status == "optimal":
        with np.errstate(over="ignore"):
            K = kernels.matrix(kernel, X, gamma=1.0)
        dual = duals.in_beta_space(duals.c_svc(K, y, 10.0))
        assert kkt.kkt_violation(K, dual, beta_of(model)) <= 2 * model.tol


FAILING = {
    "C": {"C": -1.0},
    "nu": {"nu": 2.0},
    "kernel": {"kernel": "rbg"},
    "memory": {"max_memory": 10},
}


@pytest.mark.parametrize("make", [ws.SVC, ws.NuSVC, ws.SVR, ws.NuSVR, ws.OneClassSVM])
@pytest.mark.parametrize("what", FAILING)
def test_a_failed_refit_leaves_the_old_model(make, what, rng):
    """Columns included: the old rows are predicted as before."""
    X, y = rng.normal(size=(60, 3)), np.arange(60) % 2
    model = make(n_jobs=1).fit(X, y)
    if set(FAILING[what]) - set(model.get_params()):
        return
    before = model.predict(X)
    with pytest.raises(ValueError, match=r"\w"):
        model.set_params(**FAILING[what]).fit(rng.normal(size=(40, 5)), np.arange(40) % 2)
    assert model.n_features_in_ == 3
    assert np.array_equal(model.predict(X), before)
