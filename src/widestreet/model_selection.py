"""Choice of parameters by cross-validation, with work shared between candidates and folds.

>>> from widestreet import SVC
>>> from widestreet.datasets import checkerboard
>>> from widestreet.model_selection import GridSearchCV
>>> X, y = checkerboard(500, random_state=0)
>>> search = GridSearchCV(SVC(gamma=2.0), {"C": [1, 10, 100]}, cv=3).fit(X, y)
>>> search.best_params_
{'C': 100}
"""

import widestreet._names  # noqa: F401  (sets the homes of the estimators)
from widestreet._src.public import set_home
from widestreet._src.tuning.grid_search import GridSearchCV

__all__ = ["GridSearchCV"]

set_home(__name__, __all__, globals())
del set_home
