"""Rows in parts, each with the scores of its rows."""
