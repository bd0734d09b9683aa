"""The best bias: no other is better, however the rows are divided and listed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import TOL
from reference.duals import MODELS
from support.fitting import build_dual
from support.rows_in_parts import POINTS, merged, point, problem, size
from widestreet._src.certificate import best_bias, examine, examine_all, scores
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.kernels import RBF
from widestreet._src.problems.dual import Dual
from widestreet._src.rows import as_rows

pytestmark = pytest.mark.numeric

EPS = np.finfo(np.float64).eps
GAMMA = 0.5
seeds = st.integers(0, 2**32 - 1)
values = st.floats(-4, 4).map(lambda v: round(v, 2))
variables = st.lists(
    st.tuples(values, st.sampled_from([0.0, 0.5, 1.0, 3.0]), st.booleans()), min_size=1, max_size=12
)


def best_of(f, lower, upper, total: float) -> float:
    """Return the best bias of the zero point, whose indicators F are its targets."""
    zero = np.zeros((1, len(f)))
    dual = Dual(f[None], lower[None], upper[None], zero.astype(np.uint8), np.array([total]))
    gram = Gram(RBF(GAMMA), as_rows(np.zeros((len(f), 1))))
    return float(examine_all(gram, [dual], [zero], [zero[0]])[0].bias[0])


@given(variables=variables, part=st.floats(0, 1))
def test_no_bias_is_better_than_the_best(variables, part):
    """Against every kink, and against steps to both sides; ties, empty boxes and one sign too."""
    f = np.array([v for v, _, _ in variables])
    lower = np.array([0.0 if up else -size for _, size, up in variables])
    upper = np.array([size if up else 0.0 for _, size, up in variables])
    total = float(part * upper.sum() + (1 - part) * lower.sum())  # any sum that can be met

    def loss(b):
        return b * total + np.maximum(upper * (f - b), lower * (f - b)).sum()

    best = best_of(f, lower, upper, total)
    slack = TOL.exact * (1 + np.abs(f).max()) * ((upper - lower).sum() + 1)
    assert f.min() <= best <= f.max()
    for b in [*f, best - 1, best + 1, best - 1e-3, best + 1e-3]:
        assert loss(best) <= loss(b) + slack


def test_between_equally_good_biases_the_middle_is_taken():
    f = np.array([-1.0, 0.5])
    assert best_of(f, np.array([-1.0, 0.0]), np.array([0.0, 1.0]), 0.0) == -0.25
    assert best_of(f, np.zeros(2), np.ones(2), 1.0) == -0.25
    assert best_of(f, np.zeros(2), np.ones(2), 2.0) == -1.0
    assert best_of(f, np.zeros(2), np.ones(2), 0.0) == 0.5


@pytest.mark.parametrize("model", MODELS)
@given(seed=seeds, diagonal=st.booleans(), kind=st.sampled_from(POINTS), most=st.integers(0, 3))
def test_bands_with_many_kinks_are_narrowed_first(model, seed, diagonal, kind, most):
    rng = np.random.default_rng(seed)
    gram, dual = problem(model, rng, diagonal=diagonal)
    beta = point(dual, kind, rng)
    score, owner = scores(gram, beta), rng.integers(3, size=dual.rows)
    whole = examine(gram, dual, beta, score=score)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(best_bias, "_MOST_KINKS", most)
        found = merged(gram, dual, beta, owner, score)
    for name in ("dual", "violation", "infeasibility", "rounding"):
        assert getattr(found, name) == getattr(whole, name)
    slack = TOL.figures * EPS * size(dual, beta, score)
    assert found.primal == pytest.approx(whole.primal, abs=slack)
    np.testing.assert_allclose(found.bias, whole.bias, rtol=TOL.exact, atol=TOL.twin * diagonal)


def test_kinks_that_are_all_equal_end_the_narrowing(monkeypatch):
    monkeypatch.setattr(best_bias, "_MOST_KINKS", 2)
    dual = build_dual("eps_svr", np.full(50, 3.0), C=1.0, epsilon=0.0)
    gram = Gram(RBF(0.5), as_rows(np.arange(50.0)[:, None]))
    found = merged(gram, dual, np.zeros((2, 50)), np.arange(50) % 2)
    assert (found.bias.tolist(), found.primal, found.violation) == ([3.0], 0.0, 0.0)
