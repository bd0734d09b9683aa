"""One file per library. Each defines SOLVERS, a list of `Solver` (`harness/solver.py`)."""
