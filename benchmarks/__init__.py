"""A race of SVM libraries in which everybody's solution is certified.

    python -m benchmarks race         all of it (hours); --quick: five minutes
    python -m benchmarks run          chosen solvers on chosen data, one table
    python -m benchmarks list         who and what there is
    python -m benchmarks scan         the fused scan against the NumPy expression for it
    python -m benchmarks grid         C and gamma, with and without warm starts
    python -m benchmarks strategies   every strategy of ours on the same data
    python -m benchmarks online       rows that come and go, against refits

`widestreet race` is the first of these. One file in `solvers/` per library, one in `data/` per data
set: to add one, add a file. A measurement is a process of its own (`measure.py`), the plan says
which there are (`plan.py`), the runner starts them one after the other (`runner.py`), and the
report is made of what they wrote (`report.py`).
"""
