"""Strategies that select rows for the working set."""

from widestreet._src.engines.sampling.prsvm_and_rsvm import PRSVM, RSVM, WeightedSampling
from widestreet._src.engines.selection.auto_doubling import Auto
from widestreet._src.engines.selection.fixed_size_smo import SMO
from widestreet._src.engines.selection.interior import Interior
from widestreet._src.engines.selection.isvm import ISVM
from widestreet._src.engines.selection.randsvm import RandSVM
from widestreet._src.engines.selection.strategy_protocol import (
    Proposal,
    RowSource,
    Search,
    Situation,
    Stateless,
    Strategy,
)
from widestreet._src.public import set_home
from widestreet._src.shards.survey_order import SurveyOrder

__all__ = [
    "ISVM",
    "PRSVM",
    "RSVM",
    "SMO",
    "Auto",
    "Interior",
    "Proposal",
    "RandSVM",
    "RowSource",
    "Search",
    "Situation",
    "Stateless",
    "Strategy",
    "SurveyOrder",
    "WeightedSampling",
]

set_home(__name__, __all__, globals())
del set_home
