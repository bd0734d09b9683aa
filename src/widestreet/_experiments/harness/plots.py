"""The style that all figures share."""

from __future__ import annotations

from typing import Any

COLOURS = ("#0072B2", "#56B4E9", "#E69F00", "#D55E00", "#009E73", "#CC79A7", "#F0E442", "#666666")
MARKERS = "osD^vPX*"


def tidy(panel: Any) -> None:
    """Draw a light grid and no frame."""
    panel.grid(which="major", color="#dddddd", linewidth=0.6)
    panel.set_axisbelow(True)
    panel.spines[["top", "right"]].set_visible(False)
    panel.tick_params(labelsize=8)
