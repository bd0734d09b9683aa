"""Plots of fitted models. They need matplotlib: ``pip install "widestreet[plot]"``.

Displays follow scikit-learn's convention: `from_estimator` computes what is drawn and draws it,
`plot` draws it again, and `ax_` and `figure_` are the axes and the figure of the last plot.
"""

from widestreet._src.displays.convergence import ConvergenceDisplay
from widestreet._src.displays.interval import IntervalDisplay
from widestreet._src.displays.reliability import ReliabilityDisplay
from widestreet._src.displays.search import SearchDisplay
from widestreet._src.displays.street import StreetDisplay, plot_street
from widestreet._src.public import set_home

__all__ = [
    "ConvergenceDisplay",
    "IntervalDisplay",
    "ReliabilityDisplay",
    "SearchDisplay",
    "StreetDisplay",
    "plot_street",
]

set_home(__name__, __all__, globals())
del set_home
