"""Archives and journals."""
