"""Fits of several libraries on the same problems, each in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from statistics import median
from typing import Any

from benchmarks.one import MODULES
from benchmarks.problems import GENERATED


def measure(library: str, problem: str, rows: int, dtype: str, repeats: int) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.one", library, problem]
    command += [str(rows), dtype, str(repeats)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stderr}")
    record: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return record


def run(
    rows: int = 100_000,
    dtype: str = "float64",
    libraries: tuple[str, ...] = tuple(MODULES),
    problems: tuple[str, ...] = tuple(GENERATED),
    repeats: int = 3,
) -> list[dict[str, Any]]:
    present = [name for name in libraries if find_spec(MODULES[name].split(".")[0])]
    records = []
    for problem in problems:
        for library in present:
            times = 1 if library == "scikit-learn" else repeats
            records.append(measure(library, problem, rows, dtype, times))
            print(f"  {problem} {library} {median(records[-1]['seconds']):.2f} s", file=sys.stderr)
    return records


def pace(record: dict[str, Any]) -> float:
    """Rows predicted in a second."""
    rows: int = record["predicted_rows"]
    return rows / float(median(record["predict_seconds"]))


def table(records: list[dict[str, Any]]) -> str:
    ours = {r["problem"]: r for r in records if r["library"] == "widestreet"}
    lines = [
        "| problem | rows | dtype | library | seconds | our speed-up | predicting | SVs | errors | "
        "dual objective | violation | gap | peak MB |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for r in records:
        middle = median(r["seconds"])
        fit = predict = ""
        if r["problem"] in ours:
            mine = ours[r["problem"]]
            fit = f"{middle / median(mine['seconds']):.1f}"
            predict = f"{pace(mine) / pace(r):.1f}"
        errors = "" if r["errors"] is None else f"{r['errors']:,} of {r['predicted_rows']:,}"
        lines.append(
            f"| {r['problem']} | {r['rows']:,} | {r['dtype']} | {r['library']} | {middle:.2f} | "
            f"{fit} | {predict} | {r['n_sv']:,} | {errors} | {r['dual_objective']:.6f} | "
            f"{r['violation']:.2e} | {r['gap']:.3g} | {r['peak_mb']:.0f} |"
        )
    return "\n".join(lines)
