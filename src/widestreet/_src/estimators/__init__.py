"""scikit-learn estimators."""

from widestreet._src.estimators.ensemble import EnsembleSVC
from widestreet._src.estimators.nu_svc import NuSVC
from widestreet._src.estimators.nu_svr import NuSVR
from widestreet._src.estimators.one_class import OneClassSVM
from widestreet._src.estimators.svc import SVC
from widestreet._src.estimators.svr import SVR

__all__ = ["SVC", "SVR", "EnsembleSVC", "NuSVC", "NuSVR", "OneClassSVM"]
