"""
The exact model for every C
===========================

``regularization_path`` follows the solution from a small C to a large one. The coefficients are
piecewise linear functions of C, so the model is known for every C in between, not only on a grid.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

import widestreet as ws

X, y = make_moons(200, noise=0.3, random_state=0)
X_test, y_test = make_moons(2000, noise=0.3, random_state=1)
path = ws.regularization_path(X, y, gamma=1.0, C_min=0.05, C_max=100.0)
best = path.best(X_test, y_test)
print(f"{len(path.breakpoints)} breakpoints, best C {best:.3g}")
print(path.model_at(best).certificate_)

# %%
# The coefficients of all rows along the path; the error on held-out rows for 40 values of C, and
# the best of all values.

fig, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
path.plot(ax=left)
some = np.geomspace(0.05, 100.0, 40)
errors = [1 - path.model_at(C).score(X_test, y_test) for C in some]
right.semilogx(some, errors)
right.axvline(best, color="0.5", linestyle="--", label=f"best C = {best:.3g}")
right.set(xlabel="C", ylabel="test error")
right.legend()
plt.show()
