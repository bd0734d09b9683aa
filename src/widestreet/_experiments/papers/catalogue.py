"""The papers by name."""

from __future__ import annotations

from widestreet._experiments.papers import ensemble, insvr, isvm, prsvm, randsvm
from widestreet._experiments.papers.paper import Paper

PAPERS: dict[str, Paper] = {
    module.PAPER.name: module.PAPER for module in (isvm, prsvm, randsvm, insvr, ensemble)
}
