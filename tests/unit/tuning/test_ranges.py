"""Ranges of parameters from the data."""

from __future__ import annotations

from widestreet._src.tuning.ranges import COARSE_C, LIMITS, Ranges


def made() -> Ranges:
    return Ranges(("C", "gamma"), [(1.0, 16.0, 256.0), (0.1, 0.4, 1.6)])


def test_points_inside_need_no_extension():
    ranges = made()
    assert len(ranges.coarse()) == 9
    assert ranges.beyond((16.0, 0.4)) == []
    assert ranges.on_edge((16.0, 0.4)) == []


def test_points_on_an_edge_extend_it():
    ranges = made()
    found = ranges.beyond((256.0, 0.4))
    assert {point[0] for point in found} == {4096.0}
    assert {point[1] for point in found} == {0.1, 0.4, 1.6}
    assert ranges.values[0] == (1.0, 16.0, 256.0, 4096.0)
    assert ranges.on_edge((4096.0, 0.1)) == ["C", "gamma"]


def test_corners_extend_both_parameters():
    found = made().beyond((1.0, 0.1))
    assert {point for point in found if point[0] < 1.0}
    assert {point for point in found if point[1] < 0.1}


def test_ranges_end_at_limits():
    least, most = LIMITS["C"]
    ranges = Ranges(("C",), [COARSE_C])
    while points := ranges.beyond((ranges.values[0][-1],)):
        assert all(point[0] <= most for point in points)
    while points := ranges.beyond((ranges.values[0][0],)):
        assert all(point[0] >= least for point in points)
    assert Ranges(("C",), [(1.0,)]).beyond((1.0,)) == []


def test_refinement_stays_between_neighbours():
    ranges = made()
    found = ranges.fine((16.0, 0.4), ("C",))
    assert {point[1] for point in found} == {0.4}
    assert all(1.0 < point[0] < 256.0 for point in found)
    assert len(ranges.fine((16.0, 0.4), ("C", "gamma"))) == 24
    assert ranges.fine((16.0, 0.4), ("epsilon",)) == []


def test_given_values_stay_as_they_are():
    ranges = Ranges(("C", "gamma"), [(1.0, 16.0), (0.1, 0.4)], frozenset({"C"}))
    assert {point[0] for point in ranges.beyond((16.0, 0.4))} <= {1.0, 16.0}
    assert {point[0] for point in ranges.fine((16.0, 0.4), ("C", "gamma"))} == {16.0}
    assert ranges.values[0] == (1.0, 16.0)
    assert ranges.on_edge((16.0, 0.4)) == ["C"]


def test_limits_of_C_are_in_units_of_the_target():
    for unit in (1e-6, 1.0, 1e6):
        ranges = Ranges(("C", "gamma"), [(unit, 2.0**15 * unit / 8.0), (0.1,)], unit=unit)
        assert ranges.beyond((2.0**15 * unit / 8.0, 0.1)) == []
        assert len(ranges.beyond((unit, 0.1))) == 1
