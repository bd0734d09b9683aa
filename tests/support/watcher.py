"""A callback of scikit-learn that keeps what it is told."""

from __future__ import annotations


class Watcher:
    """Keeps the records of the rounds and says where to stop."""

    def __init__(self, stop=lambda context, record: False):
        self.stop = stop
        self.records, self.ended = [], []

    def setup(self, estimator, context):
        self.ended.append("setup")

    def teardown(self, estimator, context):
        self.ended.append("teardown")

    def on_fit_task_begin(self, estimator, context, *, X=None, y=None, metadata=None):
        pass

    def on_fit_task_end(
        self, estimator, context, *, X=None, y=None, metadata=None, fitted_estimator=None
    ):
        record = (metadata or {}).get("record")
        if record is not None:
            self.records.append(record)
        if fitted_estimator is not None:
            self.ended.append(fitted_estimator)
        return record is not None and bool(self.stop(context, record))
