"""The bound on the iterations of PRSVM: means over many seeds, whatever the arithmetic."""

from __future__ import annotations

import numpy as np
import pytest

import widestreet as ws
from support.sampled_problems import easy
from widestreet._src.engines.solution import Trace
from widestreet.strategies import PRSVM

DELTA, SITES, SEEDS = 3, (1, 2, 4, 8), range(20)  # a line in the plane has three at the most


@pytest.fixture(scope="module")
def traces() -> dict[int, list[Trace]]:
    """The traces of all seeds on separable data, by the number of sites."""
    problem = easy("c_svc", 2000)
    found: dict[int, list[Trace]] = {}
    for sites in SITES:
        plan = PRSVM(sites, combinatorial_dimension=DELTA, max_rounds=None, until_certified=False)
        model = ws.SVC(kernel="linear", C=1e6, strategy=plan, n_jobs=1)
        found[sites] = []
        for seed in SEEDS:
            model.set_params(random_state=seed).fit(problem.X, problem.dual.target[0])
            assert model.certificate_.status == "optimal"
            assert len(model.support_) <= DELTA
            found[sites].append(model.trace_)
    return found


def test_iterations_obey_the_bound_and_fall_with_the_sites(traces):
    """On average at most (6 delta / C) ln(N + 6 r (C - 1) delta), C sites, r = 6 delta^2."""
    mean = np.array([np.mean([len(trace) for trace in traces[sites]]) for sites in SITES])
    more = np.array(SITES)
    bound = 6 * DELTA / more * np.log(2000 + 6 * 6 * DELTA**2 * (more - 1) * DELTA)
    assert (mean <= bound).all()
    assert (np.diff(mean) < 0).all()


@pytest.mark.parametrize("sites", SITES)
def test_violators_are_doubled_every_other_time_at_least(sites, traces):
    """The sampling lemma and Markov's inequality: the other half of the proof."""
    doubled = [record.notes["doubled"] for trace in traces[sites] for record in trace[:-1]]
    assert np.mean(doubled) >= sites / 2
