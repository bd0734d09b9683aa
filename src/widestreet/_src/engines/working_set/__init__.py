"""Rounds of pair and Newton steps on a working set of rows."""
