"""Experiments: a race of SVM libraries, the papers behind this one, and studies of its own.

    widestreet race                            libraries compared at an equal certified violation
    widestreet reproduce isvm                  the tables and figures of a paper
    python -m widestreet._experiments --help   chosen solvers on chosen data, and the studies

`harness/` measures, stores and reports for all of them. `solvers/` has one file per library and
`data/` one per data set: to add one, add a file. `race/`, `papers/` and `studies/` say what is
measured and which tables and figures are made of it.
"""
