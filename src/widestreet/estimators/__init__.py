"""scikit-learn estimators."""

from widestreet.estimators.ensemble import EnsembleSVC
from widestreet.estimators.nu_svc import NuSVC
from widestreet.estimators.nu_svr import NuSVR
from widestreet.estimators.one_class import OneClassSVM
from widestreet.estimators.svc import SVC
from widestreet.estimators.svr import SVR

__all__ = ["SVC", "SVR", "EnsembleSVC", "NuSVC", "NuSVR", "OneClassSVM"]
