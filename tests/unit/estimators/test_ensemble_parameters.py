"""Parameters that only ensembles have: what they become, and which are refused."""

from __future__ import annotations

import pytest

from widestreet import EnsembleSVC
from widestreet._src.engines.multiplicative.exponentiated_gradient import FixedRate, Projection
from widestreet._src.estimators.ensemble_parameters import chooses_width, plan_of


def test_defaults():
    plan = plan_of(EnsembleSVC())
    assert isinstance(plan.pace, Projection)
    assert plan.rank is None
    assert plan.folds == 5
    assert not plan.streamed
    assert not chooses_width(EnsembleSVC())
    assert chooses_width(EnsembleSVC(gamma="cv"))


def test_a_number_is_the_length_of_all_steps():
    assert isinstance(plan_of(EnsembleSVC(learning_rate=0.1)).pace, FixedRate)


@pytest.mark.parametrize("rank", [3, 0.25])
def test_rank(rank):
    assert plan_of(EnsembleSVC(rank=rank)).rank == rank


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"epsilon": 0.2}, "epsilon_start=0.1 must not be less than epsilon=0.2"),
        ({"rank": 1.5}, "rank must be None, an integer or a fraction"),
        ({"rank": "all"}, "rank must be None, an integer or a fraction"),
        ({"gamma": "cv", "folds": None}, "gamma='cv' needs kernel='rbf' or 'laplacian'"),
        ({"aggregate": "mean"}, "aggregate must be one of"),
    ],
)
def test_what_is_refused(given, message):
    with pytest.raises(ValueError, match=message):
        plan_of(EnsembleSVC(**given))
