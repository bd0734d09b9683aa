"""How the working-set engine picks rows."""

from widestreet.strategies.auto import Auto
from widestreet.strategies.base import Proposal, Situation, Strategy
from widestreet.strategies.smo import SMO

__all__ = ["SMO", "Auto", "Proposal", "Situation", "Strategy"]
