"""
Probabilities of classes
========================

``CalibratedSVC`` maps decision values to probabilities. The map is fitted to decision values of
models that were not trained on the row.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.calibration import CalibrationDisplay
from sklearn.datasets import make_moons

import widestreet as ws

X, y = make_moons(1000, noise=0.35, random_state=0)
X_test, y_test = make_moons(4000, noise=0.35, random_state=1)
model = ws.CalibratedSVC(ws.SVC(C=10.0, gamma=1.0)).fit(X, y)

# %%
# On the left, the probability in the plane. On the right, a reliability diagram: how often a
# predicted probability came true.

fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
a, b = np.linspace(-2, 3, 120), np.linspace(-1.5, 2, 120)
grid = np.stack(np.meshgrid(a, b), axis=-1).reshape(-1, 2)
probability = model.predict_proba(grid)[:, 1].reshape(len(b), len(a))
mesh = left.contourf(a, b, probability, levels=np.linspace(0, 1, 11), cmap="RdBu")
left.contour(a, b, probability, levels=[0.5], colors="black")
left.scatter(X[::4, 0], X[::4, 1], c=np.where(y[::4], "tab:blue", "tab:red"), s=6)
fig.colorbar(mesh, ax=left, label="probability of class 1")
CalibrationDisplay.from_estimator(model, X_test, y_test, n_bins=10, strategy="quantile", ax=right)
plt.show()
