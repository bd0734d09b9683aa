"""Kernel support vector machines on large data, trained exactly, with a certificate.

>>> import widestreet as ws
>>> from widestreet.datasets import checkerboard
>>> X, y = checkerboard(2000, random_state=0)
>>> model = ws.SVC(C=100, gamma=2.0).fit(X, y)
>>> model.certificate_.status
'optimal'
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from widestreet import datasets, io, model_selection, online, plots, strategies
    from widestreet._names import (
        SVC,
        SVCCV,
        SVR,
        SVRCV,
        CalibratedSVC,
        Certificate,
        Compaction,
        EnsembleSVC,
        Explanation,
        IntervalSVR,
        ModelReport,
        NuSVC,
        NuSVR,
        OneClassSVM,
        RegularizationPath,
        Trace,
        certify,
        explain,
        leave_one_out,
        load,
        open_rows,
        play,
        regularization_path,
        trusted_types,
    )

__version__ = "0.1.0"
__all__ = [
    "SVC",
    "SVCCV",
    "SVR",
    "SVRCV",
    "CalibratedSVC",
    "Certificate",
    "Compaction",
    "EnsembleSVC",
    "Explanation",
    "IntervalSVR",
    "ModelReport",
    "NuSVC",
    "NuSVR",
    "OneClassSVM",
    "RegularizationPath",
    "Trace",
    "__version__",
    "certify",
    "datasets",
    "explain",
    "io",
    "leave_one_out",
    "load",
    "model_selection",
    "online",
    "open_rows",
    "play",
    "plots",
    "regularization_path",
    "strategies",
    "trusted_types",
]

import_module("widestreet._src.environment")  # an instruction set that is not available is an error

_MODULES = ("datasets", "io", "model_selection", "online", "plots", "strategies")


def __getattr__(name: str) -> Any:
    """Load a public module, or all public names. Most of the time goes to scikit-learn."""
    if name in _MODULES:
        return import_module(f"widestreet.{name}")
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    names = import_module("widestreet._names")
    globals().update({one: getattr(names, one) for one in names.__all__})
    return globals()[name]


def __dir__() -> list[str]:
    """Return the public names, without internal modules."""
    return __all__
