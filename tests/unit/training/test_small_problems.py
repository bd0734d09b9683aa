"""Problems that one call of the core solves."""

from __future__ import annotations

import numpy as np
import pytest

from support.fitting import build_dual
from support.problems import toy_model
from support.settings import settings
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.kernels import RBF
from widestreet._src.problems.formulations import CSVC
from widestreet._src.rows import as_rows
from widestreet._src.training.small_problems import is_small
from widestreet.strategies import PRSVM


@pytest.mark.whole
def test_what_is_small():
    """Few rows, a strategy that allows it, and no diagonal term, which the core does not know."""
    problem, _, _ = toy_model("c_svc", 40)
    y, gram = np.float64(problem.y), Gram(RBF(0.5), as_rows(problem.X))
    plain = build_dual("c_svc", y, C=3.0)
    squared = CSVC(C=3.0, loss="squared")
    assert is_small(gram, plain, settings())
    assert not is_small(gram, plain, settings(strategy=PRSVM()))
    assert not is_small(gram, squared.dual(y, squared.box(np.ones(40))), settings())
