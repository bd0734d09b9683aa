"""Search for parameters by cross-validation, with work shared between candidates and folds."""
