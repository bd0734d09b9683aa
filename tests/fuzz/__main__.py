"""Run random problems, on the CPU and on a device, malformed calls and damaged files.

python -m fuzz [--seconds S | --count N] [--seed K]

Each failure is one line that begins with SEED/INDEX; --case SEED/INDEX repeats it alone.
"""

from __future__ import annotations

import argparse
import sys
import time

from fuzz import devices, files, malformed, problems, runner

MODULES = {"problems": problems, "devices": devices, "malformed": malformed, "files": files}
SHARES = {"problems": 0.5, "devices": 0.15, "malformed": 0.25, "files": 0.1}  # of the seconds
ENDLESS = 1 << 40


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kind", choices=list(MODULES), action="append")
    parser.add_argument("--seconds", type=float, help="for all kinds together")
    parser.add_argument("--count", type=int, help="cases of each kind")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--case", help="KIND/SEED/INDEX: run this one only")
    options = parser.parse_args()
    if options.case:
        kind, seed, index = options.case.split("/")
        print(MODULES[kind].case(int(seed), int(index)).name)
        status, wrong = MODULES[kind].run(int(seed), int(index))
        print(status, wrong or "as it should be")
        return wrong is not None
    kinds = options.kind or list(MODULES)
    seconds = options.seconds or (float("inf") if options.count else 600.0)
    failed = 0
    for kind in kinds:
        begun = time.monotonic()
        outcome = runner.run_cases(
            f"fuzz.{kind}",
            options.seed,
            options.count or ENDLESS,
            seconds=seconds * SHARES[kind] / sum(SHARES[one] for one in kinds),
            processes=options.processes,
            report=lambda line, kind=kind: print(f"{kind}/{line}", flush=True),
        )
        counts = ", ".join(f"{name} {count}" for name, count in outcome.counts.most_common())
        print(
            f"{kind}: {outcome.cases} cases in {time.monotonic() - begun:.0f} s, "
            f"{len(outcome.failures)} failed; {counts}",
            flush=True,
        )
        failed += len(outcome.failures)
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
