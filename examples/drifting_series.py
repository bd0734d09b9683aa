"""
A window over a series that drifts
==================================

An online estimator forecasts a series from a window of its last rows: for each row that is added,
the oldest one is removed. Halfway the series changes its level and its frequency. A model that was
trained once is of no use from then on.
"""

import matplotlib.pyplot as plt
import numpy as np

from widestreet import NuSVR
from widestreet.online import OnlineNuSVR

LAGS = 5  # values that a forecast is made from
WINDOW = 150  # rows
PARAMETERS = {"C": 10.0, "nu": 0.3, "gamma": 0.5}

t = np.arange(600 + LAGS)
series = np.where(t < len(t) // 2, np.sin(t / 8), 2.0 + np.sin(t / 3))
series = series + 0.05 * np.random.default_rng(0).normal(size=len(t))
past = np.lib.stride_tricks.sliding_window_view(series, LAGS)[:-1]
value = series[LAGS:]

# %%
# First the forecast, then the truth.

frozen = NuSVR(**PARAMETERS).fit(past[:WINDOW], value[:WINDOW])
model = OnlineNuSVR(**PARAMETERS, max_rows=WINDOW).fit(past[:WINDOW], value[:WINDOW])
forecast = []
for x, truth in zip(past[WINDOW:], value[WINDOW:], strict=True):
    forecast.append(model.predict([x])[0])
    model.partial_fit([x], [truth])  # the oldest row is removed

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

# %%
# The window follows the series.

fig, (above, below) = plt.subplots(2, 1, figsize=(9, 5), layout="constrained", sharex=True)
above.plot(value[WINDOW:], color="0.6", label="series")
above.plot(forecast, linewidth=0.9, label="forecast from the window")
above.legend(loc="upper left")
for name, error in errors.items():
    below.plot(np.convolve(error, np.full(15, 1 / 15), "same"), label=name)
below.set(xlabel="row", ylabel="mean absolute error, 15 rows")
below.legend(loc="upper left")
plt.show()
