"""Strategies that select rows for the working set."""

from widestreet._src.engines.sampling.prsvm import PRSVM, RSVM, WeightedSampling
from widestreet._src.engines.selection.auto import Auto
from widestreet._src.engines.selection.contract import (
    Proposal,
    Search,
    Situation,
    Stateless,
    Strategy,
)
from widestreet._src.engines.selection.isvm import ISVM
from widestreet._src.engines.selection.randsvm import RandSVM
from widestreet._src.engines.selection.smo import SMO
from widestreet._src.public import set_home

__all__ = [
    "ISVM",
    "PRSVM",
    "RSVM",
    "SMO",
    "Auto",
    "Proposal",
    "RandSVM",
    "Search",
    "Situation",
    "Stateless",
    "Strategy",
    "WeightedSampling",
]

set_home(__all__, globals())
del set_home
