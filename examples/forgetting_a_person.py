"""
Forgetting a person
===================

A person wants their rows deleted from a trained model. ``forget`` removes them without a refit. Two
facts prove that they are gone: a certificate, which is computed from the remaining rows, and
equality with a model that never saw the others.
"""

import time

import matplotlib.pyplot as plt
import numpy as np

from widestreet.datasets import twonorm
from widestreet.online import OnlineSVC

PARAMETERS = {"C": 1.0, "gamma": 0.05}  # a gamma that does not depend on the rows
PERSON = 7

X, y = twonorm(2000, random_state=0)
owner = np.random.default_rng(0).integers(100, size=len(y))  # whose row it is
model = OnlineSVC(**PARAMETERS).fit(X, y)

theirs = np.flatnonzero(owner == PERSON)  # rows are numbered in order of arrival
before = model.decision_function(X)
start = time.perf_counter()
model.forget(theirs)
seconds = time.perf_counter() - start
after = model.decision_function(X)
print(f"{len(theirs)} of {len(y)} rows forgotten in {seconds:.3f} s")
print(f"decision values moved by up to {np.abs(after - before).max():.1e}")

# %%
# The two proofs.

proof = model.verify()
print(f"certificate of {proof.n_rows} rows: {proof.status}, gap {proof.gap:.0e}")

others = owner != PERSON
never = OnlineSVC(**PARAMETERS).fit(X[others], y[others])
difference = np.abs(after - never.decision_function(X))
print(f"from a model that never saw them it differs by {difference.max():.0e}")
print(f"rows of theirs that are left: {np.isin(theirs, model.ids_).sum()}")

# %%
# What the rows had changed, and what is left of that.

fig, ax = plt.subplots(figsize=(8, 3.8), layout="constrained")
bins = np.geomspace(1e-16, 1, 60)
ax.hist(np.abs(after - before), bins, alpha=0.7, label="change by forgetting")
ax.hist(np.maximum(difference, 1e-16), bins, alpha=0.7, label="difference from a refit")
ax.set(xscale="log", xlabel="absolute difference of decision values", ylabel="rows")
ax.legend()
plt.show()
