"""Probabilities and intervals from models that were not trained on the rows that they score."""
