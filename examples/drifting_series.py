"""Forecast a series that drifts, from a window of its last rows: one comes, one goes.

Half of the way the series changes its level and its frequency. A model that was trained once is of
no use from then on; the window has forgotten the old series as soon as it has passed.

    python examples/drifting_series.py
"""

import numpy as np

from widestreet import NuSVR
from widestreet.online import OnlineNuSVR

LAGS = 5  # values that a forecast is made from
WINDOW = 150  # rows
PARAMETERS = {"C": 10.0, "nu": 0.3, "gamma": 0.5}


def drifting_series(n: int, rng: np.random.Generator) -> np.ndarray:
    """A wave with noise that becomes another wave."""
    t = np.arange(n)
    wave = np.where(t < n // 2, np.sin(t / 8), 2.0 + np.sin(t / 3))
    return wave + 0.05 * rng.normal(size=n)


def main() -> None:
    """Print the errors before the change, right after it, and later."""
    series = drifting_series(600 + LAGS, np.random.default_rng(0))
    past = np.lib.stride_tricks.sliding_window_view(series, LAGS)[:-1]
    value = series[LAGS:]

    frozen = NuSVR(**PARAMETERS).fit(past[:WINDOW], value[:WINDOW])
    model = OnlineNuSVR(**PARAMETERS, max_rows=WINDOW).fit(past[:WINDOW], value[:WINDOW])
    forecast = []
    for x, truth in zip(past[WINDOW:], value[WINDOW:], strict=True):
        forecast.append(model.predict([x])[0])
        model.partial_fit([x], [truth])  # the oldest row is forgotten

    errors = {
        "window": np.abs(np.array(forecast) - value[WINDOW:]),
        "trained once": np.abs(frozen.predict(past[WINDOW:]) - value[WINDOW:]),
    }
    change = len(past) // 2 - WINDOW
    parts = {
        "before the change": slice(0, change),
        "20 rows after it": slice(change, change + 20),
        "later": slice(change + 20, None),
    }
    print(f"{'mean absolute error':<20}" + "".join(f"{name:>14}" for name in errors))
    for part, where in parts.items():
        print(f"{part:<20}" + "".join(f"{error[where].mean():>14.3f}" for error in errors.values()))
    proof = model.verify()
    print(f"{model.n_rows_} rows, {proof.status}, violation {proof.kkt_violation:.0e}")


if __name__ == "__main__":
    main()
