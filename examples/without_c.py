"""
A classifier without C
======================

``EnsembleSVC`` averages the classifiers on the way from a Parzen window, which is too smooth, to
the hard-margin SVM, which fits the noise. No parameter decides where to stop.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_moons

import widestreet as ws
from widestreet.plots import StreetDisplay

X, y = make_moons(300, noise=0.3, random_state=0)
X_test, y_test = make_moons(3000, noise=0.3, random_state=1)
titles = {"parzen": "Parzen window", "ensemble": "Ensemble", "last": "Last member"}

fig, axes = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained")
for ax, (aggregate, title) in zip(axes, titles.items(), strict=True):
    model = ws.EnsembleSVC(gamma=2.0, aggregate=aggregate).fit(X, y)
    error = 1 - model.score(X_test, y_test)
    a, b = X.min(axis=0), X.max(axis=0)
    display = StreetDisplay.from_estimator(model, X, y, ax=ax, n_support=0)
    ax.set_title(f"{title}: test error {error:.1%}")
plt.show()
