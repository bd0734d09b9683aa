"""Online estimators: rows are added and removed, and the model is exact after every call.

>>> from widestreet.datasets import friedman
>>> from widestreet.online import OnlineSVR
>>> X, y = friedman(200, random_state=0)
>>> model = OnlineSVR(C=10.0, epsilon=1.0).fit(X[:150], y[:150])
>>> for x, value in zip(X[150:], y[150:]):
...     model = model.partial_fit([x], [value]).forget(model.ids_[0])
>>> model.n_rows_, model.verify().status
(150, 'optimal')
"""

import widestreet._names  # noqa: F401  (sets the homes of the estimators)
from widestreet._src.estimators.loading import load
from widestreet._src.estimators.online.nu_svc import OnlineNuSVC
from widestreet._src.estimators.online.nu_svr import OnlineNuSVR
from widestreet._src.estimators.online.one_class import OnlineOneClassSVM
from widestreet._src.estimators.online.svc import OnlineSVC
from widestreet._src.estimators.online.svr import OnlineSVR
from widestreet._src.persistence.journal import JournalError, JournalWarning
from widestreet._src.public import set_home

__all__ = [
    "JournalError",
    "JournalWarning",
    "OnlineNuSVC",
    "OnlineNuSVR",
    "OnlineOneClassSVM",
    "OnlineSVC",
    "OnlineSVR",
    "load",
]

set_home(__name__, __all__, globals())
del set_home
