"""All rows in the memory of a GPU, with a working set of some of them that grows.

The scores of rows outside the working set are updated by scans of what changed since they were
updated last.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch

from widestreet._src.arrays import Floats, Ints
from widestreet._src.device.census import chosen, of_rows
from widestreet._src.device.contract import Census, Choice, Moved
from widestreet._src.device.working import CudaWork, within_memory


@dataclass(eq=False)
class GrowingWork:
    """Rows of a GPU, inside and outside a working set. Its methods raise MemoryError.

    Attributes
    ----------
    work : CudaWork
        All rows; those of the working set are its members.
    inside : tensor of bool
        Which rows are in the working set.
    outside : list
        Rows outside, with all coefficients when their scores were updated.
    """

    work: CudaWork
    inside: Any = None
    outside: list[tuple[Any, Any]] = field(default_factory=list)
    _first: Any = None  # coefficients and scores at `begin`
    _inside_first: Any = None

    @property
    def _lines(self) -> Any:
        return self.work.lines[:, : len(self.work.rows)]

    @within_memory()
    def begin(self, slots: Ints, score: Floats) -> None:
        """Set the working set, and the scores of its rows. Sets: everything."""
        device, lines = self.work.device, self._lines
        self._update_all()
        some = device.index(slots).long()
        lines[1, some] = device.to(score)
        self._first = lines[:2].clone()
        self._inside_first = torch.zeros(lines.shape[1], dtype=torch.bool, device=some.device)
        self._inside_first[some] = True
        self._enter(self._inside_first)

    def _enter(self, inside: Any) -> None:
        """Replace the working set. Sets: inside, outside; the members and active rows."""
        self.inside, work = inside, self.work
        others = torch.nonzero(~inside).flatten().to(torch.int32)
        self.outside = [(others, work.coef.clone())]
        work.members = torch.nonzero(inside).flatten().to(torch.int32)
        work.activate(work.members)

    def _update_all(self) -> int:
        """Update the scores of all rows; return the number of kernel values. Sets: scores."""
        work, now, others = self.work, self.work.coef.clone(), [each for each, _ in self.outside]
        values = work.bring_up_to_date(work.aside) + work.bring_up_to_date(self.outside)
        self.outside = [(slots, now) for slots in others]
        return values

    @within_memory()
    def census(self, tol: float) -> Census:
        """Update all scores; count rows outside that violate by more than `tol`. Sets: scores."""
        work, values = self.work, self._update_all()
        if len(work.slots) < len(work.members):
            work.activate(work.members)
        return of_rows(work.each, self.inside, work.standing.ends, tol, values)

    @within_memory()
    def choose(self, by: Choice) -> None:
        """Choose the working set anew, after a census. Sets: inside, outside; the members."""
        work = self.work
        work.seed += 1
        self._enter(chosen(work.each, self.inside, work.standing.ends, by, work.seed))

    @within_memory()
    def refresh(self) -> int:
        """Compute the scores of the working set in float64; return the number of kernel values."""
        work = self.work
        some = torch.nonzero(work.coef).flatten()
        if len(some):
            parts = work.device.parts(
                work.by, work.held, work.places, work.held, work.rows[some], work.coef[some][None],
                True,
            )  # fmt: skip
            self._lines[1, work.slots.long()] = parts.sum(0)
        return len(some) * len(work.slots)

    @within_memory()
    def moved(self) -> Moved:
        """Return the rows of the working set now and at `begin`, and all that changed since."""
        self._update_all()
        now, first = self._lines[:2], self._first
        some = torch.nonzero(self.inside | self._inside_first | (now[0] != first[0])).flatten()
        slots, now, first = self.work.device.fetch_all(some, now[:, some], first[:, some])
        return Moved(slots, *now, *first)
