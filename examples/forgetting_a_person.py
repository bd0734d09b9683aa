"""Delete a person's rows from a trained model, and prove that they are gone.

Two proofs: a certificate, which is recomputed from the rows that remain and from nothing else, and
the equality with a model that never saw the others.

    python examples/forgetting_a_person.py
"""

import time

import numpy as np

from widestreet.datasets import twonorm
from widestreet.online import OnlineSVC

PARAMETERS = {"C": 1.0, "gamma": 0.05}  # a gamma that does not depend on the rows
PERSON = 7  # wants to be forgotten


def main() -> None:
    """Print what was removed, how long that took, and what is proved."""
    X, y = twonorm(2000, random_state=0)
    owner = np.random.default_rng(0).integers(100, size=len(y))  # whose row it is
    model = OnlineSVC(**PARAMETERS).fit(X, y)

    theirs = np.flatnonzero(owner == PERSON)  # rows are numbered in order of arrival
    before = model.decision_function(X)
    start = time.perf_counter()
    model.forget(theirs)
    seconds = time.perf_counter() - start
    moved = np.abs(model.decision_function(X) - before).max()
    print(f"{len(theirs)} of {len(y)} rows forgotten in {seconds:.3f} s")
    print(f"decision values moved by up to {moved:.1e}")

    proof = model.verify()
    print(f"certificate of {proof.n_rows} rows: {proof.status}, gap {proof.gap:.0e}")

    others = owner != PERSON
    never = OnlineSVC(**PARAMETERS).fit(X[others], y[others])
    difference = np.abs(model.decision_function(X) - never.decision_function(X)).max()
    print(f"from a model that never saw them it differs by {difference:.0e}")
    print(f"rows of theirs that are left: {np.isin(theirs, model.ids_).sum()}")


if __name__ == "__main__":
    main()
