"""Ensembles of partially trained SVMs: numbers from the records, for tables and text."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import fmean, median

import numpy as np

from widestreet._experiments.harness import tables as cells
from widestreet._experiments.harness.records import Record
from widestreet._experiments.harness.tables import count, digits
from widestreet._experiments.harness.words import named, share
from widestreet._experiments.papers import ensemble_plan as plan
from widestreet._experiments.papers.paper import Findings, slot

SOON = 10  # steps after which curves of Figure 1 are compared

# title, method, and key of its records
OUR_COLUMNS = {
    "best": ("SVM (BEST)", plan.PATH.name, "accuracy"),
    "loo": ("SVM (LOO)", plan.PATH.name, "loo_accuracy"),
    "parzen": ("Parzen window", plan.PARZEN.name, "accuracy"),
    "rho-svm": ("rho-SVM", plan.LAST.name, "accuracy"),
    "ensemble": ("ensemble, literal", plan.LITERAL.name, "accuracy"),
    "default": ("ensemble, default", plan.DEFAULT.name, "accuracy"),
    "folds": ("5 folds", plan.THEIRS.name, "accuracy"),
}


def errors(findings: Findings, problem: str, column: str) -> dict[int, float]:
    """Test errors in % of a column of Table 2, by split."""
    method, key = OUR_COLUMNS[column][1:]
    return {run["seed"]: 100 * (1 - run[key]) for run in findings.answers(problem, method)}


def distance(findings: Findings, problem: str, column: str, base: str) -> float | None:
    """Mean difference of two columns over the splits that both have."""
    ours, theirs = (errors(findings, problem, one) for one in (column, base))
    both = ours.keys() & theirs.keys()
    return fmean(ours[seed] - theirs[seed] for seed in sorted(both)) if both else None


def times(findings: Findings, problem: str, method: str) -> float | None:
    """Processor time of a method divided by that of the default ensemble."""
    slow, fast = (findings.mean(problem, m, "processor") for m in (method, plan.DEFAULT.name))
    return None if slow is None or fast is None else slow / fast


def ends(findings: Findings) -> dict[str, list[Record]]:
    """Means over the splits, for each epsilon."""
    found = {}
    for name in plan.SETS:
        runs = [run["cells"] for run in findings.answers(name, plan.ENDINGS.name)]
        if runs:
            found[name] = [
                {key: fmean(c[key] for c in same) for key in ("ensemble", "last", "steps")}
                for same in zip(*runs, strict=True)
            ]
    return found


APART = {"ensemble": "ensemble", "last": "rho-svm"}  # and their columns in the paper


def apart(known: Mapping[str, Sequence[Record]], what: str) -> list[float]:
    """Mean distance of a column from the paper's, for each epsilon."""
    place = plan.COLUMNS.index(APART[what])
    return [
        fmean(
            abs(100 * known[name][i][what] - plan.PRINTED[plan.SETS[name].printed][place])
            for name in plan.COMPARED
            if name in known
        )
        for i in range(len(plan.EPSILONS))
    ]


def to_best(findings: Findings) -> list[float]:
    """Mean distance of the ensemble from SVM (BEST), for each epsilon."""
    known = ends(findings)
    best = {name: errors(findings, name, "best") for name in plan.COMPARED if name in known}
    return [
        fmean(100 * known[n][i]["ensemble"] - fmean(line.values()) for n, line in best.items())
        for i in range(len(plan.EPSILONS))
    ]


def signed(value: float | None) -> str:
    return cells.DASH if value is None else f"{value:+.2f}"


def facts(findings: Findings) -> dict[str, str]:
    """Return the values of the places in the text."""
    found = {
        "rate_small": f"{plan.RATES[1]:g}",
        "rate_large": f"{plan.RATES[2]:g}",
        "soon": str(SOON),
    }
    found |= {"rank": count(plan.RANK), "end": f"{plan.EPSILONS[-1]:g}"}
    for name in plan.SETS:
        for column in OUR_COLUMNS:
            values = errors(findings, name, column)
            if values:
                found[slot(name, column, "error")] = f"{fmean(values.values()):.1f}"
            elif column != "folds":
                raise KeyError(f"{column} of {name}")
        for column, value in zip(
            plan.COLUMNS, plan.PRINTED.get(plan.SETS[name].printed, ()), strict=False
        ):
            found[slot("paper", name, column)] = str(value)
    return (
        found
        | goal_facts(findings)
        | time_facts(findings)
        | end_facts(findings)
        | curve_facts(findings)
    )


def goal_facts(findings: Findings) -> dict[str, str]:
    """Return the distance from the best-tuned SVM, the paper's and ours."""
    found = {"paper_distance": signed(plan.printed_distance(plan.COMPARED))}
    for column in ("ensemble", "default"):
        for base in ("best", "folds"):
            every = {name: distance(findings, name, column, base) for name in plan.COMPARED}
            known = {name: value for name, value in every.items() if value is not None}
            mean = fmean(known.values())
            found[f"{column}_to_{base}"] = f"{mean:+.2f}"
            found[f"{column}_to_{base}_median"] = f"{median(known.values()):+.2f}"
        near = [name for name in plan.COMPARED if not _farther(findings, name, column)]
        far = [name for name in plan.COMPARED if name not in near]
        found[f"{column}_near"], found[f"{column}_far"] = named(near), named(far)
        ahead = [name for name, value in known.items() if value < 0]  # of the folds
        found[f"{column}_beats_folds"] = named(ahead)
    for name in plan.COMPARED:
        found[slot(name, "path", "better")] = percentage(better(findings, name))
    for place, column in enumerate(plan.COLUMNS):
        less = [
            fmean(errors(findings, name, column).values())
            - plan.PRINTED[plan.SETS[name].printed][place]
            for name in plan.COMPARED
        ]
        found[f"{column}_less_paper"] = f"{fmean(less):+.2f}"
    found["compared"] = str(len(plan.COMPARED))
    return found | worst_facts(findings) | member_facts(findings)


def worst_facts(findings: Findings) -> dict[str, str]:
    """The set on which the default ensemble is farthest from SVM (BEST)."""
    away = {name: distance(findings, name, "default", "best") or 0.0 for name in plan.COMPARED}
    worst = max(away, key=lambda name: away[name])
    found = {"default_worst": worst}
    for key, column in (("error", "default"), ("best", "best"), ("parzen", "parzen")):
        found[f"default_worst_{key}"] = f"{fmean(errors(findings, worst, column).values()):.1f}"
    return found


def member_facts(findings: Findings) -> dict[str, str]:
    """Return where the literal ensemble has a lower printed error than its last member."""
    mean = {
        (name, column): round(fmean(errors(findings, name, column).values()), 1)
        for name in plan.SETS
        for column in ("ensemble", "rho-svm")
    }
    below = [name for name in plan.SETS if mean[name, "ensemble"] < mean[name, "rho-svm"]]
    steps = [findings.known(name, plan.LITERAL.name, "steps") for name in plan.SETS]
    return {
        "below_last": named(below),
        "below_last_count": share(below, plan.SETS),
        "fewest_steps": count(min(steps)),
        "most_steps": count(max(steps)),
    }


def better(findings: Findings, name: str) -> float:
    """Return the share of the SVMs on our paths with a lower error than the paper's SVM (BEST)."""
    tried = [value for run in findings.answers(name, plan.PATH.name) for value in run["tried"]]
    return fmean(100 * (1 - value) < plan.PRINTED[plan.SETS[name].printed][0] for value in tried)


def percentage(part: float) -> str:
    return f"{100 * part:.0f}"


def _farther(findings: Findings, name: str, column: str) -> bool:
    """Return whether our ensemble is farther from SVM (BEST) than the paper's."""
    line, ours = plan.PRINTED[plan.SETS[name].printed], distance(findings, name, column, "best")
    return ours is None or ours > line[-1] - line[0]


def time_facts(findings: Findings) -> dict[str, str]:
    """Ratios of processor times to that of the default ensemble."""
    found = {}
    for method in (plan.THEIRS.name, plan.OURS.name, plan.PATH.name):
        known = {name: times(findings, name, method) for name in plan.SETS}
        there = {name: value for name, value in known.items() if value is not None}
        if not there:
            raise KeyError(f"times of {method}")
        for name, value in there.items():
            found[slot(name, method, "times")] = digits(value)
        logs = [math.log(value) for value in there.values()]
        found[slot("mean", method, "times")] = digits(math.exp(fmean(logs)))
        faster = [name for name, value in there.items() if value < 1]
        found[slot("ensemble", method, "slower")] = named(faster)
        slower = [name for name in there if name not in faster]
        found[slot("ensemble", method, "faster_count")] = share(slower, there)
    for name in plan.SETS:
        for method in (plan.LITERAL.name, plan.DEFAULT.name, plan.PATH.name):
            for key, form in (("steps", count), ("processor", digits), ("n_sv", count)):
                mean = findings.mean(name, method, key)
                if mean is not None:
                    found[slot(name, method, key)] = form(mean)
    return found


def end_facts(findings: Findings) -> dict[str, str]:
    """Return the distance of earlier ends from the paper's numbers."""
    known, found = ends(findings), {}
    missing = [name for name in plan.COMPARED if name not in known]
    if missing:
        raise KeyError(f"{plan.ENDINGS.name} of {missing[0]}")
    for what in APART:
        for place, value in enumerate(apart(known, what)):
            found[f"{what}_apart_{place}"] = f"{value:.1f}"
        away = apart(known, what)
        found[f"{what}_nearest"] = f"{plan.EPSILONS[away.index(min(away))]:g}"
        found[f"{what}_nearest_apart"] = f"{min(away):.1f}"
    away = to_best(findings)
    found["end_to_best"] = signed(min(away))
    found["end_to_best_epsilon"] = f"{plan.EPSILONS[away.index(min(away))]:g}"
    gain = [n for n, line in known.items() if line[-1]["ensemble"] < line[0]["ensemble"]]
    found["gain_by_more_steps"] = named(gain)
    for name, cells_of in known.items():
        for place, c in enumerate(cells_of):
            found[slot(name, "end", str(place))] = f"{100 * c['ensemble']:.1f}"
            found[slot(name, "end_steps", str(place))] = count(c["steps"])
    return found


def curve_facts(findings: Findings) -> dict[str, str]:
    """Return how many runs of each fixed rate overshot, and their objectives."""
    found = {}
    for name in plan.CURVED:
        runs = findings.answers(name, plan.CURVES.name)
        if not runs:
            raise KeyError(f"Figure 1 of {name}")
        ended = int(median(run["curves"][0]["steps"] for run in runs))  # literal
        for place, curve in enumerate(runs[0]["curves"]):
            same = [run["curves"][place] for run in runs]
            what = slot(name, f"{curve['rate']}".replace(".", ""), curve.get("scale", "own"))
            found[f"{what}_over"] = str(sum(one["ended"] for one in same))
            found[f"{what}_steps"] = count(median(one["steps"] for one in same))
            found[f"{what}_last"] = f"{median(one['objective'][-1] for one in same):.2g}"
            for title, step in (("soon", SOON), ("then", ended)):
                found[f"{what}_{title}"] = f"{median(at_step(one, step) for one in same):.2g}"
        found[slot(name, "curve", "runs")] = str(len(runs))
    return found


def at_step(curve: Record, step: int) -> float:
    """Return the objective after so many steps, interpolated between the stored points."""
    return float(np.interp(step, curve["at"], curve["objective"]))
