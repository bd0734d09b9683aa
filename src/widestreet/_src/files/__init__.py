"""Rows in files: read in batches, stored in random order, and asked where they lie."""
