"""scikit-learn estimators."""

from widestreet.estimators.svc import SVC
from widestreet.estimators.svr import SVR

__all__ = ["SVC", "SVR"]
