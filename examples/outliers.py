"""
Outliers without labels
=======================

``OneClassSVM`` encloses the rows. ``nu`` is an upper bound on the part of the training rows that
lie outside.
"""

import matplotlib.pyplot as plt
import numpy as np

import widestreet as ws

rng = np.random.default_rng(0)
rows = np.concatenate([rng.normal((-2, 0), 0.5, (300, 2)), rng.normal((2, 1), 0.7, (300, 2))])
a, b = np.linspace(-5, 5, 200), np.linspace(-3, 4, 200)
grid = np.stack(np.meshgrid(a, b), axis=-1).reshape(-1, 2)

fig, axes = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained", sharey=True)
for ax, nu in zip(axes, (0.02, 0.2), strict=True):
    model = ws.OneClassSVM(nu=nu, gamma=0.5).fit(rows)
    inside = model.predict(rows) > 0
    decision = model.decision_function(grid).reshape(len(b), len(a))
    ax.contourf(a, b, decision, levels=[0, decision.max()], colors=["0.88"])
    ax.contour(a, b, decision, levels=[0], colors="black")
    ax.scatter(*rows[inside].T, s=6, color="tab:blue")
    ax.scatter(*rows[~inside].T, s=14, color="tab:red")
    ax.set_title(f"nu = {nu}: {(~inside).sum()} of {len(rows)} rows outside")
    print(model.certificate_)
plt.show()
