"""The style of the figures."""

from __future__ import annotations

from matplotlib.figure import Figure

from widestreet._experiments.harness.plots import COLOURS, MARKERS, tidy


def test_colours_and_markers_differ():
    assert len(set(COLOURS)) == len(COLOURS) == len(set(MARKERS))


def test_a_tidy_panel_has_no_frame():
    panel = Figure().subplots()
    tidy(panel)
    assert not panel.spines["top"].get_visible()
    assert panel.spines["bottom"].get_visible()
