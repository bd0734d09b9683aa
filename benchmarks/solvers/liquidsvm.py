"""liquidSVM (AGPL, so no dependency of anything here): why it is not in the tables."""

from __future__ import annotations

from ..solver import Solver


class LiquidSVM(Solver):
    """Named, so that nobody wonders whether it was forgotten."""

    name = title = "liquidSVM"
    package = module = "liquidSVM"
    note = "trains without an offset and gives no dual coefficients"
    rank = 8

    def absent(self) -> str | None:
        return super().absent() or (
            "its machines have no offset, which is another problem with another optimum, and its "
            "Python interface gives no dual coefficients to certify"
        )


SOLVERS = [LiquidSVM()]
