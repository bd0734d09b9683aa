"""
Scores over C and gamma
=======================

``widestreet.model_selection.GridSearchCV`` has the interface of scikit-learn's class and shares
kernel values, folds and starting points between the candidates.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

import widestreet as ws
from widestreet.model_selection import GridSearchCV
from widestreet.plots import SearchDisplay

X, y = make_moons(400, noise=0.3, random_state=0)
grid = {"C": np.geomspace(0.01, 1000, 11), "gamma": np.geomspace(0.01, 100, 9)}
search = GridSearchCV(ws.SVC(), grid, cv=5).fit(X, y)
C, gamma = search.best_params_["C"], search.best_params_["gamma"]
print(f"C {C:.3g}, gamma {gamma:.3g}, accuracy in the folds {search.best_score_:.3f}")
print(search.best_estimator_.certificate_)

# %%
# If the best point lay on the edge, the grid would have to be extended; ``SVCCV`` does that by
# itself.

fig, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
SearchDisplay.from_estimator(search, ax=ax)
plt.show()
