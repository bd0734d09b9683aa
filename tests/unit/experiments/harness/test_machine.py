"""The description of the machine."""

from __future__ import annotations

from widestreet._experiments.harness import machine


def test_the_machine_is_described():
    found = machine.describe(2)
    assert {"date", "processor", "memory", "system", "Python", "numpy", "widestreet"} <= set(found)
    assert all(found.values())
    assert machine.threads() >= 1
