"""The estimators that files can hold, by name."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics import check_scoring

from widestreet._src.estimators import parameter_checks
from widestreet._src.estimators.ensemble import EnsembleSVC
from widestreet._src.estimators.nu_svc import NuSVC
from widestreet._src.estimators.nu_svr import NuSVR
from widestreet._src.estimators.one_class import OneClassSVM
from widestreet._src.estimators.online.nu_svc import OnlineNuSVC
from widestreet._src.estimators.online.nu_svr import OnlineNuSVR
from widestreet._src.estimators.online.one_class import OnlineOneClassSVM
from widestreet._src.estimators.online.svc import OnlineSVC
from widestreet._src.estimators.online.svr import OnlineSVR
from widestreet._src.estimators.svc import SVC
from widestreet._src.estimators.svr import SVR

_BATCH = (SVC, NuSVC, SVR, NuSVR, OneClassSVM, EnsembleSVC)
_ONLINE = (OnlineSVC, OnlineNuSVC, OnlineSVR, OnlineNuSVR, OnlineOneClassSVM)
ESTIMATORS: dict[str, type[Any]] = {kind.__name__: kind for kind in (*_BATCH, *_ONLINE)}
_SEARCHES: list[type[Any]] = []


def register(kind: type[Any]) -> None:
    """Add an estimator to those that files can hold. Sets: ESTIMATORS."""
    ESTIMATORS[kind.__name__] = kind


def trust(kind: type[Any]) -> None:
    """Add a class that skops must trust, but `.street` files cannot hold. Sets: _SEARCHES."""
    _SEARCHES.append(kind)


def trusted_types() -> list[str]:
    """Return the types that skops must trust to load an estimator of this package.

    Returns
    -------
    list of str
        Names of the estimators, of their strategies, of sparse matrices and of NumPy's types of
        numbers, which imputers hold. A model holds nothing else that skops does not trust by
        itself. `GridSearchCV` and scikit-learn's scorer for ``scoring=None`` are included; other
        scorers and their metrics are not.

    Examples
    --------
    >>> import skops.io
    >>> import widestreet as ws
    >>> from widestreet.datasets import twonorm
    >>> X, y = twonorm(100, random_state=0)
    >>> content = skops.io.dumps(ws.SVC().fit(X, y))
    >>> model = skops.io.loads(content, trusted=ws.trusted_types())
    >>> model.certificate_.status
    'optimal'
    """
    arrays = (sparse.csr_array, sparse.csr_matrix, np.dtype)
    searches = (*_SEARCHES, type(check_scoring(SVC())))
    kinds = (*ESTIMATORS.values(), *searches, *parameter_checks.STRATEGIES.values(), *arrays)
    return sorted(f"{kind.__module__}.{kind.__name__}" for kind in kinds)
