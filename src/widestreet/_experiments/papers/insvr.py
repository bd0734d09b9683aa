"""INSVR: Table 3, Figures 2 and 3.

Its problems are in `insvr_problems.py`, its trials in `insvr_trials.py`, what is made of them in
`insvr_table.py` and `insvr_figures.py`.
"""

from __future__ import annotations

from widestreet._experiments.harness.measurement import Measurement
from widestreet._experiments.harness.report import Section
from widestreet._experiments.papers import insvr_figures as pictures
from widestreet._experiments.papers import insvr_table as table
from widestreet._experiments.papers.insvr_problems import KERNELS, SETS, problems
from widestreet._experiments.papers.insvr_trials import measure
from widestreet._experiments.papers.paper import Findings, Paper

LIMIT = 600.0


def plan(quick: bool) -> list[Measurement]:
    """Special cases for the first six sets, the figures for all."""
    found = []
    for name, (_, rows, _, _) in SETS.items():
        for kernel in KERNELS:
            every = [*table.methods(name, kernel, quick), pictures.method(quick)]
            found += [Measurement(f"{name}-{kernel}", rows, one, 0, LIMIT) for one in every]
    return found


def sections(findings: Findings) -> list[Section]:
    """Table 3, Figures 2 and 3."""
    return [
        Section("Table 3: conflicts and special cases", table.table_three(findings)),
        Section("Figure 2: iterations of the three stages", pictures.figure_two(findings)),
        Section("Figure 3: time of one more sample", pictures.figure_three(findings)),
    ]


def facts(findings: Findings) -> dict[str, str]:
    """Return the values of the places in the text."""
    return table.facts(findings) | pictures.facts(findings)


COLUMNS = """\
*l*: rows before the new one. *time*: wall clock of adding one row; for INSVR including the
kernel values of the new row, for the batch methods all of `fit`, for widestreet including the
certificate. *violation*: of the optimality conditions, relative to the largest target (or 1);
*relative gap*: primal minus dual objective divided by the primal; both computed in float64 from
the coefficients of every method, and the worst of the trials. The batch methods were asked for a
violation of {tol:g}."""


PAPER = Paper(
    name="insvr",
    title="INSVR: exact incremental nu-SVR",
    reference=(
        "Incremental learning for nu-support vector regression (Gu, Sheng, Wang, Ho, Osman and Li, "
        "Neural Networks 67, 2015): Table 3, Figure 2 and Figure 3. Its algorithm is "
        "`widestreet._src.engines.insvr.insvr`; the method of this library for the same task is "
        "`widestreet.online.OnlineNuSVR`."
    ),
    problems=problems,
    plan=plan,
    sections=sections,
    facts=facts,
    measure=measure,
    columns=COLUMNS,
)
