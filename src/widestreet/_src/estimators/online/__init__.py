"""Online estimators."""
