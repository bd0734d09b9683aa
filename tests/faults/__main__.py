"""`python -m faults`: cause faults, print how often each was survived and how."""

from __future__ import annotations

import argparse
import sys

from faults.driver import cause

FULL = {"interrupts": 1000, "allocations": 1000, "budgets": 50, "kills": 1000, "files": 400}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m faults", description=__doc__)
    parser.add_argument("kinds", nargs="*", metavar="kind", help=f"of {', '.join(FULL)}")
    parser.add_argument("--count", type=int, help="faults of each kind")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    failed = 0
    for kind in options.kinds or FULL:
        report = cause(kind, options.count or FULL[kind], options.seed)
        for (group, outcome), number in sorted(report.outcomes.items()):
            print(f"{kind:14}{group:28}{outcome:42}{number:6}")
        failed += len(report.failures)
        print(f"{kind:14}{len(report.failures)} failures in {report.seconds:.0f} s")
    sys.exit(failed > 0)
