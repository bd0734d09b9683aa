"""Pictures: places of values, and what those hear who do not see them."""

from __future__ import annotations

import numpy as np
import pytest

from support.pages import Page
from widestreet._src.model_report.drawing import Axis, Plot, bars, colour_grid


def test_the_ends_of_an_axis():
    axis = Axis.over(np.array([2.0, 6.0]), 0.0, 100.0)
    assert [axis(2.0), axis(4.0), axis(6.0)] == [0.0, 50.0, 100.0]


def test_a_logarithmic_axis_covers_whole_powers():
    axis = Axis.over(np.array([0.02, 30.0, 0.0, -1.0, np.nan, np.inf]), 0.0, 4.0, log=True)
    assert (axis.low, axis.high) == (0.01, 100.0)
    assert axis(1.0) == pytest.approx(2.0)
    assert not axis.shows(0.0)


@pytest.mark.parametrize("values", [[], [3.0], [3.0, 3.0], [np.nan]])
@pytest.mark.parametrize("log", [False, True])
def test_axes_of_few_values(values, log):
    axis = Axis.over(np.array(values, dtype=np.float64), 0.0, 1.0, log=log)
    assert axis.low < axis.high
    assert axis.ticks()


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-3.7, 12.2), (1e-9, 3e-9), (0.0, 1e6)])
def test_ticks_are_round_numbers_within_the_axis(low, high):
    ticks = Axis(low, high, 0.0, 1.0).ticks()
    assert 2 <= len(ticks) <= 11
    slack = 1e-6 * (high - low)
    assert low - slack <= ticks[0] < ticks[-1] <= high + slack


def test_a_plot_has_its_marks_and_words():
    x = np.array([0.0, 1.0, 2.0])
    plot = Plot.of(x, x, ("across", "up"))
    plot.line("one < two", "first", x, x)
    plot.rule("edge", x=1.0, y=1.0)
    plot.band(0.5, 1.5, "margin")
    plot.columns("bars", "second", np.array([0.0, 1.0, 2.0]), np.zeros(2), np.array([1.0, 0.0]))
    page = Page.of(plot.svg("A title", "What it shows."))
    (svg,) = page.named("svg")
    assert svg["role"] == "img"
    assert svg["aria-label"] == "A title. What it shows."
    assert len(page.named("circle")) == 3
    assert len(page.named("rect")) == 2  # the band, and the column that is not empty
    assert all(word in page.text for word in ("across", "up", "one < two", "bars"))


def test_long_numbers_leave_room_for_the_name_of_the_axis():
    x, short, long = np.arange(3.0), np.array([0.0, 5.0]), np.array([0.0, 5.0e5])
    left = [Plot.of(x, y, ("across", "up")).x.start for y in (short, long)]
    assert left[1] > left[0]


def test_values_without_a_place_are_left_out():
    plot = Plot.of(np.array([0.0, 1.0]), np.array([1.0, 10.0]), ("x", "y"), log_y=True)
    plot.line("line", "first", np.arange(3.0), np.array([1.0, 0.0, np.nan]))
    assert len(Page.of(plot.svg("t", "d")).named("circle")) == 1


def test_bars_are_as_long_as_their_parts():
    parts = [("a", "first", np.array([1.0, 0.0])), ("b", "second", np.array([3.0, 2.0]))]
    page = Page.of(bars("t", "d", ["one", "two"], parts))
    widths = [float(one["width"]) for one in page.named("rect")]
    assert len(widths) == 3
    assert widths[1] == pytest.approx(3 * widths[0], abs=0.2)


def test_a_grid_marks_its_best_cell():
    values = np.array([[0.1, np.nan], [0.5, 0.9]])
    page = Page.of(colour_grid("t", "d", ("C", "gamma"), (["1", "2"], ["3", "4"]), values, (1, 1)))
    cells = page.named("rect")
    assert len(cells) == 3
    assert [cell["class"] for cell in cells] == ["cell", "cell", "cell marked"]
    assert float(cells[2]["fill-opacity"]) == 1.0
