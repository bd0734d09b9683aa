"""Slow, obvious NumPy versions of everything the native core and the engines compute.

Nothing here imports widestreet: each module is written from the formulas alone, so that a test
comparing the two sides compares two independent derivations.

| module    | the formula it spells out                                             |
|-----------|-----------------------------------------------------------------------|
| kernels   | K(x, s) by its definition, and ``scan`` = K @ coef                    |
| duals     | the five SVMs as textbook QPs, and the same QPs in beta space         |
| qp        | min 1/2 a'Qa + p'a, Aa = d, 0 <= a <= U, with its own duality gap     |
| kkt       | objectives, KKT violation and feasibility of a point                  |
| smo       | sequential minimal optimisation, second-order selection               |
| newton    | one Newton step on the free variables with a ratio test               |
| merge     | equal (row, label) pairs become one variable with the summed weight   |
| restricted| the dual on some rows only, and which other rows violate its solution |
| isvm      | two stages of adding violators to a working set                       |
| randsvm   | support vectors and a random part of the violators, over and over     |
| prsvm     | samples of a multiset in which violators are doubled                  |
| multiplicative | Algorithm 1 of Tsang and Kwok: a rho-SVM by entropy projections  |
| shard     | violators, extremes, loss sums and the safe-skip test of a scored row |
| slots     | a symmetric tile in which rows come and go in place                   |
| shapley   | Shapley values as a sum over all coalitions of features              |
| homotopy  | where the optimum of a dual that moves on straight lines has a kink   |
"""
