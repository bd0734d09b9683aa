"""The violation at the bias of a model, against that of the rows alone."""

from __future__ import annotations

import numpy as np

from widestreet._src.certificate import examine
from widestreet._src.certificate.own_bias import violation_at
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.kernels import Linear
from widestreet._src.problems.formulations import c_svc
from widestreet._src.rows import as_rows


def example():
    gram = Gram(Linear(), as_rows(np.array([[-2.0], [-1.0], [1.0], [3.0]])))
    dual = c_svc(np.array([-1.0, -1.0, 1.0, 1.0]), 10.0)
    beta = np.array([[0.0, -0.5, 0.5, 0.0]])  # w = 1, b = 0: the optimum
    return gram, dual, beta, gram.scan(None, np.arange(4), beta[0])


def test_at_the_best_bias_it_is_the_violation_of_the_rows():
    gram, dual, beta, score = example()
    found = examine(gram, dual, beta)
    assert violation_at(dual, beta, score, found.bias) == found.violation == 0


def test_a_wrong_bias_violates_by_its_error():
    _, dual, beta, score = example()
    for error in (0.25, -0.25):
        assert violation_at(dual, beta, score, np.array([error])) == 0.25


def test_every_bias_of_an_interval_of_optima_is_right():
    dual = c_svc(np.array([-1.0, 1.0]), 0.25)
    beta = np.array([[-0.25, 0.25]])  # all at their bounds
    score = np.array([-0.5, 0.5])
    for bias in (-0.5, 0.0, 0.5):
        assert violation_at(dual, beta, score, np.array([bias])) == 0
    assert violation_at(dual, beta, score, np.array([0.75])) == 0.25
