"""The papers by name."""

from __future__ import annotations

from . import isvm, prsvm, randsvm
from .paper import Paper

PAPERS: dict[str, Paper] = {paper.name: paper for paper in (isvm.PAPER, prsvm.PAPER, randsvm.PAPER)}
