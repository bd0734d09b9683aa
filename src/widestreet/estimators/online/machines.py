"""The online machines by name."""

from __future__ import annotations

from widestreet.estimators.online.machine import OnlineMachine
from widestreet.estimators.online.nu_svc import OnlineNuSVC
from widestreet.estimators.online.nu_svr import OnlineNuSVR
from widestreet.estimators.online.one_class import OnlineOneClassSVM
from widestreet.estimators.online.svc import OnlineSVC
from widestreet.estimators.online.svr import OnlineSVR

NAMES: dict[str, type[OnlineMachine]] = {
    machine.__name__: machine
    for machine in (OnlineSVC, OnlineNuSVC, OnlineSVR, OnlineNuSVR, OnlineOneClassSVM)
}
