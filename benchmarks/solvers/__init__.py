"""One file per library. Each defines SOLVERS, a list of `benchmarks.solver.Solver`."""
