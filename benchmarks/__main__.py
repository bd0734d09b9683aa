"""Run benchmarks and print their tables; records go to benchmarks/results."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from benchmarks import fits, grid, scan, small
from benchmarks.problems import REAL

RESULTS = Path(__file__).parent / "results"


def show(name: str, records: list[dict[str, Any]], table: str) -> None:
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.json").write_text(json.dumps(records, indent=1))
    print(f"\n## {name}\n\n{table}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "which",
        nargs="?",
        choices=["scan", "fit", "real", "grid", "small", "million", "all"],
        default="all",
    )
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--dtype", choices=["float32", "float64"], action="append")
    parser.add_argument("--library", action="append", help="only these (default: all present)")
    parser.add_argument("--problem", action="append", help="only these (default: all)")
    parser.add_argument("--repeats", type=int, default=3, help="fits of all but scikit-learn")
    options = parser.parse_args()
    chosen: dict[str, Any] = {"repeats": options.repeats}
    if options.library:
        chosen["libraries"] = tuple(options.library)
    if options.problem:
        chosen["problems"] = tuple(options.problem)
    if options.which in ("scan", "all"):
        records = scan.run()
        show("scan", records, scan.table(records))
    if options.which in ("fit", "all"):
        for dtype in options.dtype or ["float64", "float32"]:
            records = fits.run(options.rows, dtype, **chosen)
            show(f"fit-{dtype}", records, fits.table(records))
    if options.which == "real":
        chosen.setdefault("problems", tuple(REAL))
        for dtype in options.dtype or ["float64"]:
            records = fits.run(0, dtype, **chosen)
            show(f"real-{dtype}", records, fits.table(records))
    if options.which in ("grid", "all"):
        records = grid.run()
        show("grid", records, grid.table(records))
    if options.which in ("small", "all"):
        records = small.run()
        show("small", records, small.table(records))
    if options.which in ("million", "all"):
        records = [fits.measure("widestreet", "checkerboard", 1_000_000, "float32", 1)]
        show("million", records, fits.table(records))
    print(file=sys.stderr)


if __name__ == "__main__":
    main()
