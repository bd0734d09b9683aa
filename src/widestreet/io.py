"""Models of other libraries, and files for them.

>>> import sklearn.svm
>>> import widestreet as ws
>>> from widestreet.datasets import twonorm
>>> X, y = twonorm(300, random_state=0)
>>> model = ws.io.from_sklearn(sklearn.svm.SVC().fit(X, y))
>>> ws.io.to_sklearn(model)
SVC()
"""

import widestreet._names  # noqa: F401  (sets the homes of the estimators)
from widestreet._src.interchange.libsvm import from_libsvm, to_libsvm
from widestreet._src.interchange.onnx_export import to_onnx
from widestreet._src.interchange.onnx_pipelines import register_skl2onnx
from widestreet._src.interchange.scikit_learn import from_sklearn, to_sklearn
from widestreet._src.persistence.archive import ArchiveError
from widestreet._src.public import set_home

__all__ = [
    "ArchiveError",
    "from_libsvm",
    "from_sklearn",
    "register_skl2onnx",
    "to_libsvm",
    "to_onnx",
    "to_sklearn",
]

set_home(__name__, __all__, globals())
del set_home
