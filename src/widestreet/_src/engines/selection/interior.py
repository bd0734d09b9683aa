"""The strategy of the interior-point engine, for kernels of low rank.

Problem and stopping criterion: the dual of dual.py. The engine
(engines/interior/predictor_corrector.py) finds the optimum up to its own rounding errors, and the
rounds of `Auto` continue from there until the stopping criterion of `Auto` holds.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from widestreet._src import checks
from widestreet._src.engines.selection.auto_doubling import Auto
from widestreet._src.engines.selection.strategy_protocol import Context, Search, Strategy
from widestreet._src.engines.solution import Solution


@dataclass(frozen=True)
class Interior(Strategy):
    """Strategy of the interior-point method on a factor K = V V' of the kernel matrix.

    The time of an iteration is proportional to the number of rows and to the square of the rank,
    whatever C and the number of support vectors are. The rank of a linear kernel is the number of
    columns, that of a polynomial kernel is the number of monomials.

    Parameters
    ----------
    max_rank : int, default=3000
        Largest number of columns of V. A kernel matrix of a larger rank is refused.
    rounds : Strategy, default=Auto()
        Strategy of the rounds that follow.
    """

    max_rank: int = 3000
    rounds: Strategy = field(default_factory=Auto)

    def __post_init__(self) -> None:
        checks.require_integer("max_rank", self.max_rank, least=1)

    def search(self) -> Search:
        """Return a search for the rounds after the interior-point method."""
        return self.rounds.search()

    def solve(self, context: Context) -> Solution:
        """Solve a problem by the interior-point engine, then by rounds."""
        return context.by_interior(self)
