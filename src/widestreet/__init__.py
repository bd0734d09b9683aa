"""Kernel support vector machines on large data, trained exactly, with a certificate.

>>> import widestreet as ws
>>> from widestreet.datasets import checkerboard
>>> X, y = checkerboard(2000, random_state=0)
>>> model = ws.SVC(C=100, gamma=2.0).fit(X, y)
>>> model.certificate_.status
'optimal'
"""

from widestreet import datasets, online, plots, strategies
from widestreet._src.estimators import SVC, SVR, EnsembleSVC, NuSVC, NuSVR, OneClassSVM
from widestreet._src.estimators.paths import leave_one_out, regularization_path

__version__ = "0.1.0"
__all__ = [
    "SVC",
    "SVR",
    "EnsembleSVC",
    "NuSVC",
    "NuSVR",
    "OneClassSVM",
    "__version__",
    "datasets",
    "leave_one_out",
    "online",
    "plots",
    "regularization_path",
    "strategies",
]


def __dir__() -> list[str]:
    """Show what is public: modules that the package is made of are left out."""
    return __all__
