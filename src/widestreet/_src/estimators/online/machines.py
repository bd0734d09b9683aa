"""The online estimators by name."""

from __future__ import annotations

from widestreet._src.estimators.online.machine import OnlineMachine
from widestreet._src.estimators.online.nu_svc import OnlineNuSVC
from widestreet._src.estimators.online.nu_svr import OnlineNuSVR
from widestreet._src.estimators.online.one_class import OnlineOneClassSVM
from widestreet._src.estimators.online.svc import OnlineSVC
from widestreet._src.estimators.online.svr import OnlineSVR

NAMES: dict[str, type[OnlineMachine]] = {
    machine.__name__: machine
    for machine in (OnlineSVC, OnlineNuSVC, OnlineSVR, OnlineNuSVR, OnlineOneClassSVM)
}
