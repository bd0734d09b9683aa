"""Estimators that train on a Dask cluster, exactly, with a certificate over all rows.

Needs dask and distributed: pip install "widestreet[dask]".
"""

from widestreet._src.dask.estimators import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from widestreet._src.public import set_home

__all__ = ["SVC", "SVR", "NuSVC", "NuSVR", "OneClassSVM"]

set_home(__all__, globals())
del set_home
