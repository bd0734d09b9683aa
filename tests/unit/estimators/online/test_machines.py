"""The online machines by name: those that are public, and no others."""

from __future__ import annotations

from widestreet import online
from widestreet._src.estimators.online.machine import OnlineMachine
from widestreet._src.estimators.online.machines import NAMES


def test_every_public_machine_has_its_name():
    public = {name: getattr(online, name) for name in online.__all__ if name != "load"}
    assert public == NAMES
    assert all(issubclass(machine, OnlineMachine) for machine in NAMES.values())
