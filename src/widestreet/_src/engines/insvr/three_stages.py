"""The three stages in which INSVR adds a sample; insvr.py describes them."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np

from widestreet._src.engines.insvr.extended_set import MARGIN_VECTOR, ExtendedSet
from widestreet._src.engines.insvr.margin_set import MarginSet, Stage
from widestreet._src.engines.insvr.step_to_next_event import Line

REMEDY = 'method="path" can train on such data'

_SUM_ROUNDING = 1e-14  # of C nu l: a smaller difference is rounding of the sum of alpha
_ZERO_STEPS_BEFORE_BLAND = 5  # consecutive ones: more than the ties of most data
_STEPS_PER_SAMPLE = 100  # of one stage, per sample: a stage that takes more is cycling


@dataclass
class StageCounts:
    """Counts of the steps of each stage, and of their special cases.

    Attributes
    ----------
    held : int
        Steps with sides held fixed: those of SC-2, and those of RAIA with one doubled sample.
    empty : int
        Steps with an empty S, in which b' or e' alone could move.
    exchanges : int
        Variables that were exchanged or removed because they depended on the others of S.
    """

    ia: int = 0
    raia: int = 0
    sra: int = 0
    conflict_1: int = 0
    conflict_2: int = 0
    sc_1: int = 0
    sc_2: int = 0
    held: int = 0
    empty: int = 0
    exchanges: int = 0

    def __iadd__(self, other: StageCounts) -> StageCounts:
        for name, value in asdict(other).items():
            setattr(self, name, getattr(self, name) + value)
        return self


class Stages:
    """Adjustments of an extended set and its margin set for one new sample.

    Parameters
    ----------
    extended : ExtendedSet
    margin : MarginSet
        Margin set of `extended`.

    Attributes
    ----------
    counts : StageCounts
    """

    def __init__(self, extended: ExtendedSet, margin: MarginSet) -> None:
        self.extended, self.margin = extended, margin
        self.counts = StageCounts()
        self._zero_steps = 0  # in a row

    def initial_adjustments(self) -> None:
        """IA: replace l by l + 1 in Q and raise eta from l / (l + 1) to 1. Sets: everything."""
        s, margin = self.extended, self.margin
        eta, s.scale = s.size / (s.size + 1), 1.0 / (s.size + 1)
        s.g[:] *= eta
        s.bias, s.tube = s.bias * eta, s.tube * eta
        margin.bordered.rescale(eta)
        linear = s.linear_term
        while eta < 1.0:
            self._begin_step("ia")
            self.counts.sc_1 += margin.one_label
            line = margin.line(margin.right_side(0.0, 0.0, linear), linear_rate=linear)
            step, variable = self._follow(line, 1.0 - eta)
            eta = 1.0 if variable is None else eta + step
            margin.sync("ia")

    def relaxed_adjustments(self, c: int) -> None:
        """RAIA: raise alpha_c from zero until the conditions on g hold. Sets: everything."""
        s, margin, z_c = self.extended, self.margin, 1 - 2 * (c & 1)
        margin.remove_dependent()
        margin.sync("raia")
        while s.g[c] < 0:
            self._begin_step("raia")
            self.counts.conflict_1 += margin.one_label and bool(s.z[s.margin[0]] != z_c)
            if margin.empty:
                line = Line.of(s, np.zeros(0, dtype=np.int64), np.zeros(0), float(z_c), 0.0)
            else:
                right = -margin.entries(margin.bordered.keys, [c])[:, 0]
                line = margin.line(right, driven=c)
            line.noise[c ^ 1] = np.inf  # the other side has g = 2e' - g_c and does not end the line
            rises = line.g[c] > line.noise[c]
            _, variable = self._follow(line, -s.g[c] / line.g[c] if rises else np.inf)
            if variable == c:  # alpha_c = C
                return
            if variable is None:
                s.g[c] = 0.0
            margin.sync("raia")
        if s.alpha[c] > 0:
            s.state[c] = MARGIN_VECTOR
            margin.sync("raia")

    def restoration_adjustments(self, total: float) -> None:
        """SRA: return the sum of alpha to C nu l. Sets: everything."""
        s, margin = self.extended, self.margin
        margin.sync("sra")
        variable: int | None = -1
        while variable is not None and abs(total - float(s.alpha.sum())) > _SUM_ROUNDING * total:
            self._begin_step("sra")
            self.counts.conflict_2 += margin.one_label
            missing = total - float(s.alpha.sum())
            line = margin.line(margin.right_side(0.0, np.sign(missing), np.zeros(2 * s.size)))
            speed = np.sign(missing) * float(line.rate.sum())
            only_tube_moves = margin.empty or margin.one_label or speed <= 0
            _, variable = self._follow(line, np.inf if only_tube_moves else abs(missing) / speed)
            margin.sync("sra")

    def _begin_step(self, stage: Stage) -> None:
        """Count a step and its special cases; raise after too many steps. Sets: counts."""
        steps = getattr(self.counts, stage) + 1
        setattr(self.counts, stage, steps)
        self.counts.empty += self.margin.empty
        self.counts.sc_2 += len(self.extended.doubled) > 1
        self.counts.held += self.margin.has_fixed
        if steps > _STEPS_PER_SAMPLE * (self.extended.size + 1):
            raise RuntimeError(
                f"sample {self.extended.size}: not optimal after {steps} steps; {REMEDY}"
            )

    def _follow(self, line: Line, limit: float) -> tuple[float, int | None]:
        """Follow a line to its end, where a variable changes its set. Sets: everything.

        Returns
        -------
        step : float
        variable : int or None
            None if the line ended at `limit`.
        """
        s = self.extended
        step, variable = line.longest_step(s, limit, self._zero_steps > _ZERO_STEPS_BEFORE_BLAND)
        if not np.isfinite(step):
            raise RuntimeError(f"sample {s.size}: a line has no end; {REMEDY}")
        line.follow(s, step)
        self._zero_steps = self._zero_steps + 1 if step == 0 else 0
        if variable is not None and variable in line.members:
            s.leave(variable, line.rises(variable))
        elif variable is not None:
            s.g[variable], s.state[variable] = 0.0, MARGIN_VECTOR
        return step, variable
