"""Training on weighted samples of the rows (RSVM, PRSVM)."""
