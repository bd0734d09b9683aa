"""The model of an online estimator as a batch estimator, without its rows."""

from __future__ import annotations

from typing import Any

from widestreet._src.estimators.nu_svc import NuSVC
from widestreet._src.estimators.nu_svr import NuSVR
from widestreet._src.estimators.one_class import OneClassSVM
from widestreet._src.estimators.plain_state import is_fitted
from widestreet._src.estimators.svc import SVC
from widestreet._src.estimators.svr import SVR

_BATCH = {f"Online{kind.__name__}": kind for kind in (SVC, NuSVC, SVR, NuSVR, OneClassSVM)}


def as_batch(machine: Any) -> Any:
    """Return a batch estimator with the parameters and the model of an online estimator."""
    kind = next(_BATCH[base.__name__] for base in type(machine).__mro__ if base.__name__ in _BATCH)
    given, known = machine.get_params(deep=False), kind._get_param_names()
    found = kind(**{name: given[name] for name in known if name in given})
    fitted = {name: value for name, value in vars(machine).items() if is_fitted(name)}
    proof = {"certificate_": machine.certificate_, "certificates_": machine.certificates_}
    found.__dict__ |= fitted | proof | {"_gamma": machine._gamma}
    return found
