"""liquidSVM (AGPL, so never a dependency of anything here): why it is not in the tables.

Its SVMs have no offset ("Training SVMs without offset", JMLR 2011), which is another problem
with another optimum, so a comparison at equal violation has no meaning; and its Python interface
(1.0.1) gives no dual coefficients. That version also builds for Python 3.11 but does not find its
own library when it is imported.
"""

from __future__ import annotations

from typing import Any

from widestreet._experiments.harness.solver import Solution, Solver


class LiquidSVM(Solver):
    """A solver that is listed with the reason why it is absent."""

    name = title = package = module = "liquidSVM"
    note = ""
    rank = 8

    def absent(self) -> str | None:
        return (
            "it trains without an offset, which is another problem with another optimum, and its "
            "Python interface gives no dual coefficients that could be certified"
        )

    def fit(self, *_: Any, **options: Any) -> Any:
        raise ValueError(self.absent())

    def solution(self, *_: Any) -> Solution:
        raise ValueError(self.absent())

    def predict(self, *_: Any) -> Any:
        raise ValueError(self.absent())


SOLVERS = [LiquidSVM()]
