"""
Prediction intervals
====================

``IntervalSVR`` returns intervals with a proved coverage, by the jackknife+. It needs the models
without each of the rows, which are found exactly and without refits.
"""

import matplotlib.pyplot as plt
import numpy as np

import widestreet as ws

rng = np.random.default_rng(0)
X = rng.uniform(-3, 3, (1150, 1))
y = np.sin(2 * X[:, 0]) + 0.25 * rng.standard_normal(len(X))
X, X_test, y, y_test = X[:150], X[150:], y[:150], y[150:]

model = ws.IntervalSVR(ws.SVR(C=10.0, gamma=1.0), confidence_level=0.9).fit(X, y)
low, high = model.predict_interval(X_test).T
print(f"{((low <= y_test) & (y_test <= high)).mean():.1%} of 1,000 new rows are inside")

line = np.linspace(-3, 3, 300)[:, None]
low, high = model.predict_interval(line).T
fig, ax = plt.subplots(figsize=(8, 4), layout="constrained")
ax.fill_between(line[:, 0], low, high, alpha=0.25, label="90 % interval")
ax.plot(line[:, 0], model.predict(line), label="prediction")
ax.plot(X[:, 0], y, ".", color="0.4", label="training rows")
ax.legend()
plt.show()
