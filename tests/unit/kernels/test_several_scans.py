"""Several scans of a Gram matrix: those of the core in one call, all others one by one."""

from __future__ import annotations

import numpy as np
import pytest

from conftest import TOL
from support.class_pairs import gram_in_form
from support.devices import PlainArray, PlainDevice
from widestreet import _core
from widestreet._src.kernels import several_scans
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.kernels import RBF, Callable, Linear
from widestreet._src.kernels.poll import Poll
from widestreet._src.kernels.several_scans import scan_each
from widestreet._src.rows import DeviceRows, LentRows, as_rows

pytestmark = pytest.mark.numeric


def three(rng, n: int) -> list:
    """Three scans of different sizes."""
    sizes = ((5, 30), (n, 7), (20, n))
    return [(rng.permutation(n)[:i], rng.permutation(n)[:j], rng.normal(size=j)) for i, j in sizes]


def gram_of(kind: str, X: np.ndarray) -> Gram:
    if kind == "callable":
        return Gram(Callable(lambda a, b: np.cos(a @ b.T)), as_rows(X))
    if kind == "linear":
        return Gram(Linear(), as_rows(X))
    gram = gram_in_form("csr" if kind == "csr" else "dense", X)
    if kind == "diagonal":
        return gram.select(None, diagonal=np.linspace(1.0, 2.0, len(X)))
    return gram.select(np.arange(len(X))[::-1]) if kind == "selection" else gram


@pytest.mark.parametrize("kind", ["dense", "csr", "selection", "diagonal", "linear", "callable"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sums_are_those_of_scans_one_by_one(kind, dtype, rng):
    gram, scans, poll = gram_of(kind, rng.normal(size=(90, 4))), three(rng, 90), Poll()
    found = dict(scan_each(gram, scans, dtype=dtype, poll=poll))
    assert sorted(found) == [0, 1, 2]
    assert poll.kernel_values == sum(len(I) * len(J) for I, J, _ in scans)
    for p, (I, J, coef) in enumerate(scans):
        slack = TOL.scan_float64 if dtype == np.float64 else TOL.scan_float32
        alone = gram.scan(I, J, coef, dtype=dtype)
        np.testing.assert_allclose(found[p], alone, atol=20 * slack * np.abs(coef).sum(), rtol=0)


def test_a_device_computes_its_scans(rng):
    """Rows in its memory are not copied to the host."""
    device, X = PlainDevice(), rng.normal(size=(90, 4))
    rows = LentRows(PlainArray(device, X), X.mean(axis=0))
    gram, scans = Gram(RBF(0.5), DeviceRows(rows, device, 1 << 30)), three(rng, 90)
    before = len(device.scans)
    found = dict(scan_each(gram, scans))
    assert len(device.scans) - before == 3
    assert "host" not in vars(rows)
    K = Gram(RBF(0.5), as_rows(X)).block()
    for p, (I, J, coef) in enumerate(scans):
        slack = TOL.scan_float64 * np.abs(coef).sum()
        np.testing.assert_allclose(found[p], K[np.ix_(I, J)] @ coef, atol=slack, rtol=0)


def test_rows_in_an_order_by_similarity_get_their_own_sums(rng):
    X = (rng.random((300, 30)) < 0.2).astype(np.float64)
    gram = gram_in_form("csr", X)
    scans = [(rng.permutation(300)[:n], np.arange(300), rng.normal(size=300)) for n in (100, 200)]
    scans = [(I, np.tile(J, 2), np.tile(coef, 2)) for I, J, coef in scans]
    K = gram.block()
    for p, sums in scan_each(gram, scans):
        I, J, coef = scans[p]
        slack = TOL.scan_float64 * np.abs(coef).sum()
        np.testing.assert_allclose(sums, K[np.ix_(I, J)] @ coef, atol=slack, rtol=0)


def test_no_call_takes_long(monkeypatch, rng):
    """Calls have a limited cost, and a scan above it has calls of its own."""
    gram, calls = Gram(RBF(0.5), as_rows(rng.normal(size=(90, 4)))), []
    scans, native = three(rng, 90) * 3, _core.scan_each
    whole = dict(scan_each(gram, scans))

    def counted(*given, **named):
        calls.append(len(named["left_end"]))
        native(*given, **named)

    monkeypatch.setattr(several_scans._core, "scan_each", counted)
    monkeypatch.setattr(several_scans, "CALL_COST", gram.cost * 1000)
    cut = dict(scan_each(gram, scans))
    assert calls == [3, 2, 1]  # of 150 or 630 values each; those of 1,800 are alone
    assert all(np.array_equal(whole[p], cut[p]) for p in whole)


def test_a_stop_keeps_what_was_yielded(monkeypatch, rng):
    gram, looks = Gram(RBF(0.5), as_rows(rng.normal(size=(90, 4)))), []

    def look() -> None:
        looks.append(None)
        if len(looks) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(several_scans, "CALL_COST", gram.cost * 1000)
    found = scan_each(gram, [three(rng, 90)[1] for _ in range(3)], poll=Poll(look))
    assert next(found)[0] == 0
    with pytest.raises(KeyboardInterrupt):
        next(found)
