"""How the working-set engine picks rows."""

from widestreet.strategies.auto import Auto
from widestreet.strategies.base import Proposal, Search, Situation, Stateless, Strategy
from widestreet.strategies.isvm import ISVM
from widestreet.strategies.prsvm import PRSVM, RSVM, OnSites
from widestreet.strategies.randsvm import RandSVM
from widestreet.strategies.smo import SMO

__all__ = [
    "ISVM",
    "PRSVM",
    "RSVM",
    "SMO",
    "Auto",
    "OnSites",
    "Proposal",
    "RandSVM",
    "Search",
    "Situation",
    "Stateless",
    "Strategy",
]
