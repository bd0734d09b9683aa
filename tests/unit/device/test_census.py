"""State of all rows of a device: figures by their definition, and the choice of a working set."""

from __future__ import annotations

import numpy as np
import pytest

from conftest import TOL
from support.devices import device_of
from widestreet._src.device.contract import Choice

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
census = pytest.importorskip("widestreet._src.device.census")

# coefficients, scores, targets, tubes, lower and upper bounds of five rows
LINES = np.array(
    [
        [0.0, 1.0, 2.0, -1.0, 0.0],
        [0.5, 0.5, 2.0, 0.0, 9.0],
        [1.0, 1.0, 1.0, -1.0, -1.0],
        [0.0, 0.0, 0.0, 0.2, 0.2],
        [0.0, 0.0, 0.0, -2.0, -2.0],
        [2.0, 2.0, 2.0, 0.0, 0.0],
    ]
)
INSIDE = np.array([True, True, False, True, False])
ENDS = np.array([0.5, -0.1])


def tensors(*arrays: np.ndarray) -> list:
    return [device_of("triton").to(array.copy()) for array in arrays]


def test_figures():
    lines, inside, ends = tensors(LINES, INSIDE, ENDS)
    found = census.of_rows(lines, inside, ends, 0.01, 7)
    assert (found.highest, found.bias, found.values) == (0.5, 0.2, 7)
    assert found.lowest == pytest.approx(-9.8, abs=TOL.twin)
    # the third row may shrink and has F = -1; the last one may shrink and has F = -9.8
    assert found.violators == 2
    assert found.excess == pytest.approx(1.2 + 10.0, abs=TOL.twin)
    assert (found.support, found.free) == (3, 2)
    assert found.linear == pytest.approx(1.0 + 2.0 + 1.0 - 0.2, abs=TOL.twin)
    assert found.norm == pytest.approx(0.5 + 4.0, abs=TOL.twin)
    assert found.loss == pytest.approx(2 * 0.3 + 2 * 0.3 + 2 * 1.0 + 2 * 10.0, abs=TOL.twin)


@pytest.mark.parametrize(
    ("ends", "bias"), [((3.0, 1e30), 3.0), ((-1e30, 3.0), 3.0), ((-1e30, 1e30), 0.0)]
)
def test_bias_of_an_unbounded_interval(ends, bias):
    lines, inside, ends = tensors(LINES, INSIDE, np.array(ends))
    assert census.of_rows(lines, inside, ends, 0.01, 0).bias == bias


def choice(**changes: float) -> Choice:
    return Choice(
        **{"slack": 0.5, "support_slack": 5.0, "tol": 0.01, "chance": 1.0, "most": 9} | changes
    )


@pytest.mark.parametrize(
    ("changes", "chosen"),
    [
        ({}, [0, 1, 2, 3, 4]),
        ({"slack": -1.0}, [1, 2, 3, 4]),
        ({"slack": -1.0, "support_slack": -0.9}, [2, 3, 4]),
        ({"chance": 0.0}, [0, 1, 3]),
        ({"tol": 5.0}, [0, 1, 3, 4]),
    ],
)
def test_rows_that_are_chosen(changes, chosen):
    lines, inside, ends = tensors(LINES, INSIDE, ENDS)
    found = census.chosen(lines, inside, ends, choice(**changes), 1)
    np.testing.assert_array_equal(np.flatnonzero(found.cpu().numpy()), chosen)


def test_no_more_rows_than_allowed():
    lines, inside, ends = tensors(LINES, INSIDE, ENDS)
    assert int(census.chosen(lines, inside, ends, choice(most=2), 1).sum()) == 2


def test_slack_of_an_open_interval_counts_from_its_nearer_end():
    """Rows that define the interval stay, whatever its length."""
    lines, inside, _ = tensors(LINES[:, :2], INSIDE[:2], ENDS)
    lines[0] = torch.tensor([0.0, 2.0])  # the first may grow, the second may shrink
    lines[2] = torch.tensor([-4.0, 6.0])
    [ends] = tensors(np.array([-4.5, 5.5]))
    found = census.chosen(lines, inside, ends, choice(slack=0.1), 1)
    assert found.tolist() == [True, True]
