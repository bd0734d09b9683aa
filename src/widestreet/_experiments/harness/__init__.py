"""One harness for the race, the papers and the studies.

`measurement.py` says what is measured, `measure.py` measures it in a process that `runner.py`
starts, `records.py` stores the outcome, `tables.py`, `words.py` and `report.py` turn it into a
page.
"""
