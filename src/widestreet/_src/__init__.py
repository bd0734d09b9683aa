"""Everything that is not public."""
