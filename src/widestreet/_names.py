"""Public classes and functions of the package, which loads them when one is used."""

from widestreet._src.calibration.calibrated_svc import CalibratedSVC
from widestreet._src.calibration.interval_svr import IntervalSVR
from widestreet._src.certificate import Certificate
from widestreet._src.engines.solution import Trace
from widestreet._src.estimators.compaction import Compaction
from widestreet._src.estimators.ensemble import EnsembleSVC
from widestreet._src.estimators.explanation import Explanation, explain
from widestreet._src.estimators.leave_one_out import leave_one_out
from widestreet._src.estimators.loading import load
from widestreet._src.estimators.nu_svc import NuSVC
from widestreet._src.estimators.nu_svr import NuSVR
from widestreet._src.estimators.one_class import OneClassSVM
from widestreet._src.estimators.parameter_checks import STRATEGIES
from widestreet._src.estimators.registry import ESTIMATORS, trusted_types
from widestreet._src.estimators.regularization_path import regularization_path
from widestreet._src.estimators.regularization_result import RegularizationPath
from widestreet._src.estimators.svc import SVC
from widestreet._src.estimators.svr import SVR
from widestreet._src.files.opening import open_rows
from widestreet._src.interchange.certifying import certify
from widestreet._src.model_report.report import ModelReport
from widestreet._src.playground.notebook import play
from widestreet._src.public import set_home
from widestreet._src.tuning.grid_search import GridSearchCV
from widestreet._src.tuning.svc_cv import SVCCV
from widestreet._src.tuning.svr_cv import SVRCV

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
    "certify",
    "explain",
    "leave_one_out",
    "load",
    "open_rows",
    "play",
    "regularization_path",
    "trusted_types",
]

set_home("widestreet", __all__, globals())
# Files name these classes, also if their public modules are not imported.
set_home("widestreet.online", [name for name in ESTIMATORS if name not in __all__], ESTIMATORS)
_strategies = {kind.__name__: kind for kind in STRATEGIES.values()}
set_home("widestreet.strategies", _strategies, _strategies)
set_home("widestreet.model_selection", ["GridSearchCV"], {"GridSearchCV": GridSearchCV})
del set_home
