"""Random problems of the batch estimators on a device, judged like those of the CPU.

The device is Triton's interpreter, or a GPU if there is one; NumPy takes its place where PyTorch
or Triton are not installed, and in every second case. Half of the problems are solved by rounds on
the device, however small they are, and half of the pairs of several classes side by side. Dense
rows are now and then arrays on the device.
"""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pytest

from fuzz import problems
from support.devices import ForeignArray, PlainDevice, device_of, use
from widestreet._src.engines.working_set import batch_on_device, small, state_of_rounds
from widestreet._src.estimators import placing
from widestreet._src.training import pairs_on_device

ESTIMATORS = (*problems.BATCH, "EnsembleSVC")
ROWS = 20  # more take seconds by the interpreter
INSTALLED = all(find_spec(name) is not None for name in ("torch", "triton"))


def case(seed: int, index: int) -> problems.Case:
    """Draw a problem that a device can compute."""
    drawn = 0
    while True:
        found = problems.case(seed, index + drawn)
        drawn += 1 << 20
        native = found.kernel.name not in ("callable", "precomputed")
        if found.estimator in ESTIMATORS and native and len(found.X) <= ROWS:
            found.parameters |= {"device": "cuda", "max_time": problems.SECONDS}
            return found


def run(seed: int, index: int) -> tuple[str, str | None]:
    """Fit and judge a case: its status, and what is wrong or None."""
    problem, rng = case(seed, index), np.random.default_rng([seed, index, 1])
    plain = not INSTALLED or index % 2 == 0
    by_rounds, lent, beside = rng.random(3) < 0.5
    with pytest.MonkeyPatch.context() as patch:
        use(patch, PlainDevice() if plain else device_of("triton"))
        patch.setattr(placing, "_VALUES_OF_PREDICTION", 0)
        if by_rounds:
            patch.setattr(small, "_MOST_ROWS", 0)
            patch.setattr(state_of_rounds, "FEW_FOR_DEVICE", 0)
        if beside:
            patch.setattr(pairs_on_device, "_LEAST_COST", 0.0)
            patch.setattr(batch_on_device, "_MOST_STEPS", 100)  # between two looks at the clock
        if lent and type(problem.given) is np.ndarray and problem.given.flags.writeable:
            problem.given = ForeignArray(problem.given)
        name = (
            f"{problem.name} {'NumPy' if plain else 'Triton'} {by_rounds=!s} {lent=!s} {beside=!s}"
        )
        try:
            model = problems.fit(problem)
            there = model.predict(problem.given)
            found = model.set_params(device="cpu").predict(problem.given)
        except Exception as error:  # a well-posed problem must not raise
            return "raised", f"{type(error).__name__}: {error}: {name}"
    wrong = problems.complaints(problem, model)
    if isinstance(there, ForeignArray):
        there, found = there.values, found.values
    if there.dtype.kind == "f" and not np.allclose(there, found, atol=1e-6 * np.abs(found).max()):
        wrong.append("predictions differ from those of the CPU")
    return model.certificate_.status, f"{'; '.join(wrong)}: {name}" if wrong else None
