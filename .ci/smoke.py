"""Fit an installed widestreet on every instruction set of this processor.

Run by `make dist` and by cibuildwheel in an environment that holds the wheel and what it requires.
"""

from __future__ import annotations

import sys
from importlib.metadata import version

import numpy as np

import widestreet as ws
from widestreet import _core
from widestreet._src.playground.assets import script
from widestreet.datasets import checkerboard
from widestreet.online import OnlineSVC

X, y = checkerboard(2000, random_state=0)
objectives = []
for name in _core.instruction_sets():
    _core.force_instruction_set(name)
    model = ws.SVC(gamma=2.0, C=10.0, random_state=0).fit(X, y)
    if model.certificate_.status != "optimal":
        sys.exit(f"{name}: {model.certificate_}")
    objectives.append(model.certificate_.dual_objective)
if np.ptp(objectives) > 1e-4 * max(objectives):
    sys.exit(f"the instruction sets disagree: {objectives}")
stream = OnlineSVC(gamma=2.0).fit(X[:200], y[:200]).partial_fit(X[200:210], y[200:210])
if stream.forget([0, 1]).verify().status != "optimal":
    sys.exit("an update did not reach the optimum")
script()  # the files of the page are installed
if ws.__version__ != version("widestreet"):
    sys.exit(f"the module is {ws.__version__}, its metadata says {version('widestreet')}")
print(f"widestreet {ws.__version__} on {', '.join(_core.instruction_sets())}")
