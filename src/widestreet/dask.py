"""Estimators that train on a Dask cluster, exactly, with a certificate over all rows.

Needs dask and distributed: pip install "widestreet[dask]".

Examples
--------
>>> import dask.array as da
>>> from distributed import Client
>>> from widestreet.dask import SVC
>>> from widestreet.datasets import checkerboard
>>> X, y = checkerboard(1000, random_state=0)
>>> with Client(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0"):
...     model = SVC(C=10.0, gamma=20.0).fit(da.from_array(X), da.from_array(y))
>>> model.certificate_.status
'optimal'
>>> model.to_local().predict(X[:3]).shape
(3,)
"""

try:
    import dask as _dask
    import distributed as _distributed
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f'widestreet.dask needs dask and distributed: pip install "widestreet[dask]" ({error})'
    ) from None

import widestreet._names  # noqa: F401  (sets the homes of the estimators)
from widestreet._src.dask.estimators import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from widestreet._src.public import set_home

__all__ = ["SVC", "SVR", "NuSVC", "NuSVR", "OneClassSVM"]

set_home(__name__, __all__, globals())
del set_home, _dask, _distributed
