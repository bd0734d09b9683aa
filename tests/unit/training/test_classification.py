"""Problems of all pairs of classes: each is trained as if it were alone."""

from __future__ import annotations

import numpy as np
import pytest

from conftest import TOL
from reference import kernels
from support.problems import toy_svc
from support.settings import NoCallbacks, settings
from widestreet._src.kernels.kernels import RBF
from widestreet._src.problems.class_pairs import PairLayout
from widestreet._src.problems.formulations import CSVC, NuSVC
from widestreet._src.reporting.observers import Observers
from widestreet._src.rows import as_rows, merge_duplicates
from widestreet._src.training.classification import train_classes


def trained(X, code, formulation, start=None):
    box = formulation.box(np.ones(len(code)))
    rows = as_rows(X)
    merged = merge_duplicates(rows, code.astype(np.float64), box, 1)
    classes = int(code.max()) + 1
    names = [str(pair) for pair in PairLayout(classes).pairs]
    with Observers(0, TOL.twins, NoCallbacks(), names) as observers:
        return train_classes(
            RBF(0.5), rows, merged, code[merged.kept], formulation, settings(), observers, start
        )


@pytest.fixture
def three() -> tuple[np.ndarray, np.ndarray]:
    X, code = toy_svc(90, 3).X, np.arange(90) % 3
    return X + np.eye(3)[code], code


@pytest.mark.parametrize("formulation", [CSVC(C=10.0), NuSVC(nu=0.3)])
def test_every_pair_is_the_problem_of_its_two_classes(formulation, three):
    X, code = three
    lines, found = trained(X, code, formulation)
    layout = PairLayout(3)
    assert lines.shape == (2, 90)
    assert len(found) == 3
    for one, (i, j) in zip(found, layout.pairs, strict=True):
        part = (code == i) | (code == j)
        _, [alone] = trained(X[part], (code[part] == j).astype(np.int64), formulation)
        objective = alone.certificate.dual_objective
        assert one.certificate.dual_objective == pytest.approx(objective, rel=TOL.objective_rel)


def test_the_sign_of_the_first_class_is_that_of_the_layout(three):
    X, code = three
    for classes in (2, 3):
        part = code < classes
        lines, _ = trained(X[part], code[part], CSVC(C=1.0))
        first = lines[0, code[part] == 0]
        assert (first * PairLayout(classes).sign_of_first >= 0).all()
        assert first.any()


def test_a_start_at_the_optimum_is_the_optimum(three):
    X, code = three
    lines, found = trained(X, code, CSVC(C=10.0))
    again, warm = trained(X, code, CSVC(C=10.0), lines)
    K = kernels.matrix("rbf", X, gamma=0.5)
    np.testing.assert_allclose(again @ K, lines @ K, atol=TOL.decision)
    assert sum(one.solution.pair_steps for one in warm) < sum(
        one.solution.pair_steps for one in found
    )
