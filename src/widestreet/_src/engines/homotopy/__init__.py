"""The exact optimum of a dual problem as its data change, by a homotopy."""
