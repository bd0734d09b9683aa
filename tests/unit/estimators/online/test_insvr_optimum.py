"""OnlineNuSVR by the published algorithm: where it ends, what it counts, what it refuses."""

from __future__ import annotations

import copy
import pickle
from dataclasses import asdict

import numpy as np
import pytest
from scipy import sparse

import widestreet as ws
from conftest import TOL, chosen_rng
from support.fitting import limited_by_float64
from support.histories import KERNELS
from widestreet._src.engines.insvr.insvr import Insvr
from widestreet.online import OnlineNuSVR, load

N, FIRST = 30, 12
SCALINGS = ("libsvm", "schoelkopf")
STAGES = ("ia", "raia", "sra")
every_scaling = pytest.mark.parametrize("scaling", SCALINGS)


def rows(repeated: bool = False, n: int = N) -> tuple[np.ndarray, np.ndarray]:
    """A wave with noise; half of the rows may be those of the other half, with other targets."""
    rng = chosen_rng(3)  # the special cases are met on these rows
    X = rng.normal(size=(n, 2))
    if repeated:
        X[n // 2 :] = X[: n - n // 2]
    y = np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=n)
    if repeated:
        y[n // 2 :: 2] = y[: n - n // 2 : 2]  # some with the same target
    return X, y


def insvr(**options) -> OnlineNuSVR:
    given = {"C": 10.0, "nu": 0.4, "gamma": 1.0, "method": "insvr", "n_jobs": 1}
    return OnlineNuSVR(**given | options)


def begun(**options) -> OnlineNuSVR:
    X, y = rows()
    return insvr(**options).fit(X[:FIRST], y[:FIRST])


def one_by_one(model: OnlineNuSVR, X, y) -> OnlineNuSVR:
    for i in range(len(y)):
        model.partial_fit(X[i : i + 1], y[i : i + 1])
    return model


def assert_same(model, other, X, y) -> None:
    """The same function, at an optimum of its own."""
    size = max(10.0, np.abs(other.dual_coef_).sum())
    values = model.predict(X), other.predict(X)
    np.testing.assert_allclose(*values, rtol=0, atol=TOL.decision * size)
    assert abs(model.epsilon_ - other.epsilon_) <= TOL.decision * size
    assert model.verify().status == "optimal"
    assert model.certificate_.kkt_violation <= TOL.online * max(1.0, np.abs(y).max())


# -- where it ends ---------------------------------------------------------------------------------


@limited_by_float64
@pytest.mark.parametrize("repeated", [False, True])
@pytest.mark.parametrize("kernel", KERNELS)
@every_scaling
def test_it_ends_where_the_path_and_a_batch_fit_do(scaling, kernel, repeated):
    X, y = rows(repeated)
    for nu, C in ((0.1, 100.0), (0.5, 10.0), (0.9, 1.0)):
        options = {"nu": nu, "C": C, **KERNELS[kernel]}
        model = insvr(scaling=scaling, **options).fit(X[:FIRST], y[:FIRST])
        other = OnlineNuSVR(scaling=scaling, n_jobs=1, **options).fit(X[:FIRST], y[:FIRST])
        for i in range(FIRST, N, 6):
            model.partial_fit(X[i : i + 6], y[i : i + 6])
            other.partial_fit(X[i : i + 6], y[i : i + 6])
            assert_same(model, other, X, y)
        options["C"] = C / N if scaling == "schoelkopf" else C
        assert_same(model, ws.NuSVR(tol=TOL.twins, n_jobs=1, **options).fit(X, y), X, y)


@every_scaling
def test_row_by_row_from_the_first(scaling):
    X, y = rows()
    model = one_by_one(insvr(scaling=scaling), X, y)
    assert model.ids_.tolist() == list(range(N))
    assert_same(model, insvr(scaling=scaling, method="path").fit(X, y), X, y)
    last = model.insvr_last_counts_
    assert (last.ia > 0) == (scaling == "schoelkopf")
    assert model.n_iter_ == sum(asdict(model.insvr_counts_)[stage] for stage in STAGES)


def test_the_order_of_arrival_does_not_matter(rng):
    X, y = rows(repeated=True)
    order = rng.permutation(N)
    model = insvr().fit(X[order[:5]], y[order[:5]]).partial_fit(X[order[5:]], y[order[5:]])
    assert_same(model, one_by_one(insvr(), X, y), X, y)


@every_scaling
def test_a_weight_is_a_number_of_samples(scaling):
    X, y = rows()
    weight = np.arange(N) % 4 * 1.0
    parts = (slice(0, FIRST), slice(FIRST, 20), slice(20, N))
    model, other = insvr(scaling=scaling), insvr(scaling=scaling, method="path")
    for part in parts:
        for one in (model, other):
            one.partial_fit(X[part], y[part], weight[part])
    assert_same(model, other, X, y)
    assert model.n_rows_ == N
    model.forget(range(0, N, 4))  # nobody's samples
    assert model.ids_.tolist() == [i for i in range(N) if i % 4]
    assert_same(model.partial_fit(X[:1], y[:1]), other.partial_fit(X[:1], y[:1]), X, y)
    model.change_weight([1, 2], [1.0, 2.0])  # as they are


@pytest.mark.parametrize("form", [sparse.csr_matrix, np.float32])
def test_forms_of_rows(form):
    X, y = rows()
    X = X.astype(np.float32).astype(np.float64)
    model = insvr().fit(form(X[:FIRST]), y[:FIRST]).partial_fit(form(X[FIRST:]), y[FIRST:])
    assert_same(model, insvr(method="path").fit(X, y), X, y)


def test_each_row_left_out():
    X, y = rows()
    model = begun().partial_fit(X[FIRST:], y[FIRST:])
    found = model.leave_one_out()
    expected = insvr(method="path").fit(X, y).leave_one_out()
    np.testing.assert_allclose(found, expected, rtol=0, atol=TOL.decision * 10)
    np.testing.assert_allclose(ws.leave_one_out(insvr(), X, y), expected, rtol=0, atol=TOL.detour)


@pytest.mark.parametrize("change", [{"C": 300.0}, {"nu": 0.8}, {"scaling": "schoelkopf"}])
def test_parameters_change_with_the_next_call(change):
    X, y = rows()
    model = begun().set_params(**change).partial_fit(X[FIRST:], y[FIRST:])
    assert_same(model, insvr(method="path", **change).fit(X, y), X, y)
    model.set_params(C=2.0).change_weight([], [])
    assert_same(model, insvr(method="path", **change | {"C": 2.0}).fit(X, y), X, y)
    assert asdict(model.insvr_last_counts_) == dict.fromkeys(asdict(model.insvr_last_counts_), 0)


# -- what it counts --------------------------------------------------------------------------------


@every_scaling
def test_what_happened_is_counted(scaling):
    X, y = rows()
    model = begun(scaling=scaling)
    assert not any(asdict(model.insvr_counts_).values())
    total = dict.fromkeys(asdict(model.insvr_counts_), 0)
    for i in range(FIRST, N, 3):
        model.partial_fit(X[i : i + 3], y[i : i + 3])
        last = asdict(model.insvr_last_counts_)
        assert last["raia"] + last["sra"] >= 3
        total = {name: total[name] + last[name] for name in total}
        assert asdict(model.insvr_counts_) == total
    assert (total["ia"] >= N - FIRST) == (scaling == "schoelkopf")


@every_scaling
def test_special_cases_are_counted(scaling, monkeypatch):
    """As the engine counts them, which meets all of them where the box is small."""
    X, y = rows()
    seen, add = [], Insvr.add

    def spy(self, *sample):
        add(self, *sample)
        seen.append(asdict(self.last))

    monkeypatch.setattr(Insvr, "add", spy)
    model = insvr(scaling=scaling, nu=0.9, C=0.01).fit(X[:1], y[:1]).partial_fit(X[1:], y[1:])
    counts = asdict(model.insvr_counts_)
    assert counts == {name: sum(one[name] for one in seen) for name in counts}
    assert len(seen) == N - 1
    assert counts["sc_1"] > 0 or scaling == "libsvm"  # which has no first stage
    assert min(counts[name] for name in ("conflict_1", "conflict_2", "held")) > 0


def test_counts_are_there_with_insvr_only():
    X, y = rows()
    model = begun()
    model.insvr_counts_.ia = 99  # a copy
    assert model.insvr_counts_.ia == 0
    model.set_params(method="path").partial_fit(X[FIRST:], y[FIRST:])
    assert not hasattr(model, "insvr_counts_")
    model.set_params(method="insvr").fit(X, y)
    assert hasattr(model, "insvr_last_counts_")
    model.set_params(method="path").fit(X, y)
    assert not hasattr(model, "insvr_last_counts_")
    assert not hasattr(insvr(), "insvr_counts_")


# -- what it refuses -------------------------------------------------------------------------------

REFUSED = {
    "forget": (lambda m: m.forget(3), 'remove rows.*method="path"'),
    "change_weight": (lambda m: m.change_weight(3, 2.0), 'change their weights.*method="path"'),
    "max_rows": (
        lambda m: m.set_params(max_rows=5).partial_fit([[0.0, 0.0]], [1.0]),
        'max_rows=5.*method="path"',
    ),
    "sample_weight": (
        lambda m: m.partial_fit([[0.0, 0.0]], [1.0], [0.5]),
        r'sample_weight=0\.5.*method="path"',
    ),
    "method": (lambda m: m.set_params(method="smo").fit([[0.0], [1.0]], [0.0, 1.0]), "method must"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_be_done_is_refused_with_the_cure(what):
    X, y = rows()
    model = begun()
    before, (call, match) = model.predict(X), REFUSED[what]
    with pytest.raises(ValueError, match=match):
        call(model)
    model.set_params(max_rows=None, method="insvr")
    np.testing.assert_array_equal(model.predict(X), before)
    model.partial_fit(X[FIRST:], y[FIRST:])
    assert_same(model, insvr(method="path").fit(X, y), X, y)
    assert model.insvr_counts_.sra > 0


@every_scaling
def test_the_cure_goes_on_from_the_model_as_it_is(scaling):
    X, y = rows()
    model = begun(scaling=scaling).partial_fit(X[FIRST:], y[FIRST:])
    model.set_params(method="path").forget([0, 4, 20])
    kept = np.setdiff1d(np.arange(N), [0, 4, 20])
    other = insvr(scaling=scaling, method="path").fit(X[kept], y[kept])
    assert_same(model, other, X, y)
    model.change_weight([1, 2], [0.5, 3.0])
    with pytest.raises(ValueError, match="not an integer"):
        model.set_params(method="insvr").partial_fit(X[:1], y[:1])
    model.set_params(method="path").change_weight([1, 2], 1.0)
    model.set_params(method="insvr").partial_fit(X[:1], y[:1])
    assert_same(model, other.partial_fit(X[:1], y[:1]), X, y)


def test_a_failure_leaves_the_machine_as_it_was(monkeypatch):
    X, y = rows()
    model = begun().partial_fit(X[FIRST:20], y[FIRST:20])
    before, counts = model.predict(X), model.insvr_counts_
    with monkeypatch.context() as patch:
        patch.setattr("widestreet._src.engines.insvr.three_stages._STEPS_PER_SAMPLE", 0)
        with pytest.raises(RuntimeError, match=r'not optimal after 1 steps; method="path" can'):
            model.partial_fit(X[20:], y[20:])
    assert model.n_rows_ == 20
    np.testing.assert_array_equal(model.predict(X), before)
    assert model.insvr_counts_ == counts
    assert_same(model.partial_fit(X[20:], y[20:]), insvr(method="path").fit(X, y), X, y)
    assert model.insvr_counts_.sra > counts.sra


@pytest.mark.parametrize("weight", [1e6, 1e15])
def test_more_samples_than_memory_allows_are_refused(weight):
    X, y = rows()
    model = begun(max_memory="10MB").partial_fit(X[FIRST:20], y[FIRST:20])
    before, said = model.predict(X), r'samples need more memory.*10,000,000.*method="path"'
    with pytest.raises(ValueError, match=said):
        model.partial_fit(X[20:21], y[20:21], [weight])
    with pytest.raises(ValueError, match=said):
        insvr(max_memory="10MB").fit(X, y, np.full(N, weight))
    np.testing.assert_array_equal(model.predict(X), before)
    assert_same(model.partial_fit(X[20:], y[20:]), insvr(method="path").fit(X, y), X, y)


def test_an_optimum_that_cannot_be_taken_over_names_the_cure(monkeypatch):
    X, y = rows()
    monkeypatch.setattr("widestreet._src.engines.insvr.insvr._LARGEST_VIOLATION", -1.0)
    with pytest.raises(RuntimeError, match=r'violates the conditions.*method="path" can'):
        insvr().fit(X, y)


# -- copies and files ------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["pickle", "deepcopy"])
def test_copies_go_on_by_themselves(how):
    X, y = rows()
    model = begun()
    other = pickle.loads(pickle.dumps(model)) if how == "pickle" else copy.deepcopy(model)
    other.partial_fit(X[FIRST:], y[FIRST:])
    assert (model.n_rows_, model.insvr_counts_.sra) == (FIRST, 0)
    assert_same(other, model.partial_fit(X[FIRST:], y[FIRST:]), X, y)
    assert other.insvr_counts_ == model.insvr_counts_


@every_scaling
def test_files(tmp_path, scaling):
    X, y = rows()
    model, journal = begun(scaling=scaling), tmp_path / "rows.journal"
    model.partial_fit(X[FIRST:20], y[FIRST:20], journal=journal)
    model.save(tmp_path / "model.street")
    model.partial_fit(X[20:], y[20:], np.arange(N - 20) % 3, journal=journal)
    model.set_params(method="path").forget(2, journal=journal)
    model.set_params(method="insvr").partial_fit(X[:2], y[:2], journal=journal)
    model.end_journal()
    for path, more in ((tmp_path / "model.street", {"journal": journal}), (journal, {})):
        found = load(path, **more)
        assert (found.method, found.n_rows_) == ("insvr", N + 1)
        # of the last call, which is done again; how many steps it takes depends on rounding
        assert (found.insvr_last_counts_.ia > 0) == (scaling == "schoelkopf")
        assert found.insvr_last_counts_.raia + found.insvr_last_counts_.sra >= 2
        assert_same(found, model, X, y)
        found.end_journal()
    model.save(tmp_path / "later.street")
    found = load(tmp_path / "later.street").partial_fit(X[:1], y[:1])
    assert_same(found, model.partial_fit(X[:1], y[:1]), X, y)
