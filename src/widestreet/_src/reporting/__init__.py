"""Progress of a fit."""
