"""Benchmarks: ratios in one run on one machine, never absolute times.

    python -m benchmarks            everything below but `real`
    python -m benchmarks scan       the fused scan against the NumPy expression for it
    python -m benchmarks fit        SVC and SVR against other libraries at 1e5 rows
    python -m benchmarks real       MNIST and news20 from WIDESTREET_DATA, several classes
    python -m benchmarks grid       C and gamma, with and without warm starts
    python -m benchmarks small      fifty problems of 100 to 2,000 rows, predictions, imports
    python -m benchmarks million    a checkerboard of a million rows, certified

Every library runs in a process of its own after a warm-up on other data; the median of three fits
counts (of one for scikit-learn, which takes minutes). What a library returns is examined by our
certificate in float64 over all rows: objective, gap and violation are those of the solution, not of
its maker.
"""
