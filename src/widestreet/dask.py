"""Estimators that train on a Dask cluster, exactly, with a certificate over all rows.

Needs dask and distributed: pip install "widestreet[dask]".
"""

try:
    import dask as _dask
    import distributed as _distributed
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f'widestreet.dask needs dask and distributed: pip install "widestreet[dask]" ({error})'
    ) from None

from widestreet._src.dask.estimators import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from widestreet._src.public import set_home

__all__ = ["SVC", "SVR", "NuSVC", "NuSVR", "OneClassSVM"]

set_home(__all__, globals())
del set_home, _dask, _distributed
