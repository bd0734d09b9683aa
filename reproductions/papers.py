"""The papers by name."""

from __future__ import annotations

from . import ensemble, insvr, isvm, prsvm, randsvm
from .paper import Paper

PAPERS: dict[str, Paper] = {
    module.PAPER.name: module.PAPER for module in (isvm, prsvm, randsvm, insvr, ensemble)
}
