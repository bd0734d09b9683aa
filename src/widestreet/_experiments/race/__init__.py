"""The race: libraries on the same data, compared at an equal certified violation.

`plan.py` says what is run, `schedule.py` at which tolerances, `comparison.py` which runs count and
what follows from them, `page.py` and `plots.py` show it.
"""
