"""Faults at random moments: programs that cause them and judge what they leave.

`python -m faults` in the folder tests causes each kind as often as a release demands, and prints a
table; `python -m faults interrupts --count 50 --seed 3` causes one kind. test_faults.py runs
a few of each. A program states a failure with the seed that causes it again.
"""
