"""RandSVM: its bound, and how its runs end."""

from __future__ import annotations

import numpy as np

from support.experiments import answer
from widestreet._experiments.papers import randsvm
from widestreet._experiments.papers.paper import Findings


def test_the_bound_of_randsvm():
    """Equation 7, and the number that section 5 implies for 100,000 rows."""
    assert randsvm.bound(100_000, 16, 0.9) == np.ceil(400 * np.log(4e5 / 0.9))
    chosen = randsvm.letter("twonorm1", 100_000).parameters
    assert chosen["k"] == randsvm.bound(100_000, 32, 0.9)
    assert chosen["sample_size"] > chosen["k"]


def test_endings_are_counted():
    plan = [one for one in randsvm.plan(False) if one.problem in ("twonorm1", "ringnorm1")]
    said = {
        ("twonorm1", "randsvm"): {"ended": "k"},
        ("ringnorm1", "randsvm"): {"ended": "violators"},
        ("ringnorm1", "randsvm-certified"): {"certificate": "time_limit"},
    }
    records = [answer(one, **said.get((one.problem, one.method.name), {})) for one in plan]
    found = randsvm.endings(Findings(plan, records))
    assert found["ended_with_k"] == "1 of 2"
    assert found["certified"] == "1 of 2"
    assert (found["every"], found["late"]) == ("6", "1")
