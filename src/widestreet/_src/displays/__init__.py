"""Displays of fitted models in scikit-learn's convention."""
