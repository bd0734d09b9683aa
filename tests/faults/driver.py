"""Cause faults in a process of their own, and go on with the next when it dies of one.

A module of this package has a class FAULT. Its instances are called with the number of a fault and
a generator of random numbers; they cause it and return its group, what it was and what was left, or
raise. It may have an `environment` for the process.
"""

from __future__ import annotations

import faulthandler
import importlib
import json
import os
import subprocess
import sys
import time
import warnings
from collections import Counter
from typing import Any, NamedTuple

import numpy as np

HANGING = 120  # seconds after which a call has not been answered


class Report(NamedTuple):
    """What faults of a kind have led to: how often, by group and outcome; and what is wrong."""

    outcomes: Counter
    failures: list[str]
    seconds: float


def inherited() -> dict[str, str]:
    """The environment of a process that imports what this one does."""
    return os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


def cause(kind: str, count: int, seed: int) -> Report:
    """Cause so many faults of a kind."""
    outcomes: Counter = Counter()
    failures: list[str] = []
    begun, i = time.monotonic(), 0
    module = importlib.import_module(f"faults.{kind}")
    environment = inherited() | getattr(module, "environment", dict)()
    while i < count:
        command = [sys.executable, "-m", "faults.driver", kind, str(i), str(count), str(seed)]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
        ) as process:
            for line in process.stdout:
                one = json.loads(line)
                i = one["number"] + 1
                if one["failure"]:
                    failures.append(f"{kind} {one['number']} of seed {seed}: {one['failure']}")
                    print(failures[-1], flush=True)
                outcomes[one["group"], one["outcome"]] += 1
            error = process.stderr.read()
        if i < count or process.returncode != 0:
            failures.append(f"{kind} {i} of seed {seed}: died of {process.returncode}\n{error}")
            print(failures[-1], flush=True)
            outcomes["process", "died"] += 1
            i += 1
    return Report(outcomes, failures, time.monotonic() - begun)


def work(kind: str, first: int, count: int, seed: int) -> None:
    """Cause the faults from `first` on; write a line of JSON for each."""
    warnings.simplefilter("ignore")
    fault = importlib.import_module(f"faults.{kind}").FAULT()
    for i in range(first, count):
        faulthandler.dump_traceback_later(HANGING, exit=True)
        one: dict[str, Any] = {"number": i, "group": kind, "outcome": "FAILED", "failure": ""}
        try:
            one["group"], _, one["outcome"] = fault(i, np.random.default_rng([seed, i]))
        except Exception as error:
            one["failure"] = str(error)
        faulthandler.cancel_dump_traceback_later()
        print(json.dumps(one), flush=True)


if __name__ == "__main__":
    work(sys.argv[1], *map(int, sys.argv[2:]))
