"""Support of the callbacks of scikit-learn 1.9 and later (`sklearn.callback`).

A fit is a tree of tasks. Each round of training is a leaf. If there are several problems, they are
a level between the fit and the rounds. Older releases of scikit-learn have no callbacks: there the
mixin is empty, the decorator returns its argument and the reporter does nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from widestreet._src.engines.solution import TraceRecord

try:
    from sklearn.callback import CallbackSupportMixin as _Mixin
    from sklearn.callback import with_callbacks as _managed
except ImportError:  # scikit-learn < 1.9
    _Mixin, _managed = object, None

__all__ = ["CallbackSupport", "RoundReporter", "with_callbacks"]

_Fit = TypeVar("_Fit", bound=Callable[..., Any])


class CallbackSupport(_Mixin):
    """Mixin that gives an estimator `set_callbacks`, if scikit-learn supports it."""


def with_callbacks(fit: _Fit) -> _Fit:
    """Decorate a method that makes a `RoundReporter`, so that callbacks are always torn down."""
    managed: _Fit = fit if _managed is None else _managed(fit)
    return managed


class RoundReporter:
    """Report the rounds of a fit to the callbacks of an estimator, if it has any.

    A task begins before the work and ends after it, so that callbacks can measure its time. The
    work after the last round, such as the certificate, is therefore also a task; it ends without
    data.

    Parameters
    ----------
    estimator : object
        Estimator that is being fitted.
    X, y, sample_weight : object
        Training data, for callbacks that use them.
    problems : int, default=1
        Number of problems, solved one after the other. Rounds of a single problem belong directly
        to the fit.
    """

    def __init__(
        self, estimator: Any, X: Any, y: Any, sample_weight: Any = None, *, problems: int = 1
    ) -> None:
        self._fit: Any = None  # context of the whole task; None if there are no callbacks
        self._problem: Any = None
        self._round: Any = None
        self._stop = self._stop_all = False
        begin = getattr(estimator, "_init_callback_context", None)
        if begin is None or not getattr(estimator, "_skl_callbacks", None):
            return
        metadata = {} if sample_weight is None else {"sample_weight": sample_weight}
        self._whole = {"estimator": estimator, "X": X, "y": y, "metadata": metadata}
        self._single = problems == 1
        self._part = self._whole if self._single else {"estimator": estimator, "metadata": {}}
        self._fit = begin(max_subtasks=None if self._single else problems)
        self._fit.call_on_fit_task_begin(**self._whole)

    @property
    def active(self) -> bool:
        """True if the estimator has callbacks."""
        return self._fit is not None

    @contextmanager
    def problem(self, name: str = "problem") -> Iterator[None]:
        """Report the task of one problem, which is solved within the block."""
        if self._fit is None:
            yield
            return
        self._stop, self._problem = False, self._fit
        if not self._single:
            self._problem = self._begin(self._fit, name, max_subtasks=None)
        self._round = self._begin(self._problem, "round")
        yield
        if self._round is not None:
            self._round.call_on_fit_task_end(estimator=self._part["estimator"])
        if not self._single:
            self._stop_all |= self._problem.call_on_fit_task_end(**self._part)

    def __call__(self, record: TraceRecord) -> bool:
        """Report a round of the current problem; callbacks find the record in their metadata.

        Returns
        -------
        bool
            True if a callback asks to stop this problem. After a request to stop all problems, each
            remaining problem gets one round, because a model needs all of them.
        """
        if self._fit is None or self._stop:
            return self._stop
        metadata = {**self._part["metadata"], "record": record}
        stop = self._round.call_on_fit_task_end(**{**self._part, "metadata": metadata})
        self._stop = stop or self._stop_all
        self._round = None if self._stop else self._begin(self._problem, "round")
        return self._stop

    def finish(self) -> None:
        """Report the end of the fit. The estimator must be fitted."""
        if self._fit is not None:
            self._fit.call_on_fit_task_end(**self._whole, reconstruction_attributes={})

    def _begin(self, parent: Any, name: str, **options: Any) -> Any:
        return parent.subcontext(task_name=name, **options).call_on_fit_task_begin(**self._part)
