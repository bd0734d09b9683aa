"""Callbacks of scikit-learn: a task per round, stops that are obeyed, nothing where none exist."""

from __future__ import annotations

import importlib.util
import pickle
import sys
import time
import warnings
from itertools import combinations, pairwise

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from support.trace_records import record
from widestreet._src.estimators import callbacks
from widestreet._src.estimators.callbacks import CallbackSupport, RoundReporter, with_callbacks
from widestreet._src.stacklevel import level_of_caller

ROUND_SECONDS = 0.02


class Machine(ClassifierMixin, CallbackSupport, BaseEstimator):
    """Reports rounds as our estimators do and always predicts the first class."""

    def __init__(self, rounds: int = 3, fail: bool = False, seconds: float = 0.0):
        self.rounds = rounds
        self.fail = fail
        self.seconds = seconds

    @with_callbacks
    def fit(self, X, y, sample_weight=None):
        classes = np.unique(y)
        pairs = list(combinations(range(len(classes)), 2))
        report = RoundReporter(self, X, y, sample_weight, problems=len(pairs))
        trained = []
        for i, j in pairs:
            with report.problem(f"{i} against {j}"):
                trained.append(self._train(report))
        self.classes_, self.n_rounds_ = classes, trained
        report.finish()
        return self

    def _train(self, report):
        warnings.warn("trained", UserWarning, stacklevel=level_of_caller())
        for number in range(1, self.rounds + 1):
            time.sleep(self.seconds)
            if self.fail:
                raise ArithmeticError("no solution")
            if report(record(round=number)):
                break
        return number

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


class Recorder:
    """Keeps what happened; asks to stop where it is told to."""

    def __init__(self, stop=lambda context: False):
        self.stop = stop
        self.events = []

    def _keep(self, hook, context, **given):
        names, node = [], context
        while node is not None:
            names.append(node.task_name)
            node = node.parent
        self.events.append((hook, names[::-1], context, given))

    def setup(self, estimator, context):
        self._keep("setup", context)

    def teardown(self, estimator, context):
        self._keep("teardown", context)

    def on_fit_task_begin(self, estimator, context, *, X=None, y=None, metadata=None):
        self._keep("begin", context, X=X, y=y, metadata=metadata)

    def on_fit_task_end(
        self, estimator, context, *, X=None, y=None, metadata=None, fitted_estimator=None
    ):
        given = {"X": X, "y": y, "metadata": metadata, "fitted": fitted_estimator}
        self._keep("end", context, time=time.perf_counter(), **given)
        return self.stop(context)

    def of(self, wanted, depth):
        """The contexts and arguments of a hook at a depth of the tree."""
        return [
            (context, given)
            for hook, names, context, given in self.events
            if hook == wanted and len(names) == depth
        ]

    def told(self):
        """What happened, without the details."""
        return [(hook, "/".join(names)) for hook, names, _, _ in self.events]


class Propagated(Recorder):
    max_propagation_depth = None


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    return rng.normal(size=(60, 2)), np.arange(60) % 2


@pytest.fixture
def three(data):
    return data[0], np.arange(60) % 3


needs_callbacks = pytest.mark.skipif(
    not hasattr(CallbackSupport, "set_callbacks"), reason="scikit-learn has no callbacks"
)
pytestmark = pytest.mark.filterwarnings("ignore:trained")


# -- the tree of tasks -------------------------------------------------------------------------


@needs_callbacks
def test_a_round_is_a_leaf(data):
    seen = Recorder()
    Machine(rounds=2).set_callbacks(seen).fit(*data)
    task = [("begin", "fit/round"), ("end", "fit/round")]
    assert seen.told() == [("setup", "fit"), ("begin", "fit"), *3 * task, ("end", "fit"),
                           ("teardown", "fit")]  # fmt: skip
    (root, _), *_ = seen.of("end", 1)
    assert root.max_subtasks is None
    assert [context.max_subtasks for context, _ in seen.of("end", 2)] == [0, 0, 0]


@needs_callbacks
def test_several_problems_are_a_level_of_their_own(three):
    seen = Recorder()
    Machine(rounds=1).set_callbacks(seen).fit(*three)
    (root, _), *_ = seen.of("end", 1)
    problems = [context for context, _ in seen.of("end", 2)]
    assert root.max_subtasks == 3
    assert [p.task_name for p in problems] == ["0 against 1", "0 against 2", "1 against 2"]
    assert [p.max_subtasks for p in problems] == [None] * 3
    rounds = [(c.parent.task_id, c.task_id, c.max_subtasks) for c, _ in seen.of("end", 3)]
    assert rounds == [(0, 0, 0), (0, 1, 0), (1, 0, 0), (1, 1, 0), (2, 0, 0), (2, 1, 0)]
    begun = [names for hook, names in seen.told() if hook == "begin"]
    assert sorted(begun) == sorted(names for hook, names in seen.told() if hook == "end")


@needs_callbacks
def test_a_round_begins_before_its_work(data):
    """So that a callback can time it."""
    seen = Recorder()
    Machine(rounds=3, seconds=ROUND_SECONDS).set_callbacks(seen).fit(*data)
    ends = seen.of("end", 2)
    for (context, _), (following, _) in pairwise(ends):
        apart = following.init_time - context.init_time
        assert apart.total_seconds() >= 0.9 * ROUND_SECONDS


# -- what callbacks are given ------------------------------------------------------------------


@needs_callbacks
def test_rounds_carry_data_and_record(data):
    seen = Recorder()
    X, y = data
    weight = np.ones(60)
    Machine(rounds=2).set_callbacks(seen).fit(X, y, sample_weight=weight)
    *rounds, after = [given for _, given in seen.of("end", 2)]
    assert [given["metadata"]["record"].round for given in rounds] == [1, 2]
    assert all(given["X"] is X and given["y"] is y for given in rounds)
    assert all(given["metadata"]["sample_weight"] is weight for given in rounds)
    assert all(given["fitted"] is None for given in [*rounds, after])
    assert after["X"] is after["metadata"] is None


@needs_callbacks
def test_problems_do_not_claim_the_data_of_the_fit(three):
    seen = Recorder()
    Machine(rounds=1).set_callbacks(seen).fit(*three)
    inner = [*seen.of("begin", 2), *seen.of("end", 2), *seen.of("begin", 3), *seen.of("end", 3)]
    assert all(given["X"] is given["y"] is None for _, given in inner)
    assert seen.of("end", 3)[0][1]["metadata"]["record"].round == 1
    assert seen.of("end", 1)[0][1]["X"] is three[0]


@needs_callbacks
def test_the_fit_ends_with_an_estimator_that_predicts(data):
    seen = Recorder()
    model = Machine().set_callbacks(seen).fit(*data)
    (_, given), *_ = seen.of("end", 1)
    assert given["fitted"] is not model
    assert np.array_equal(given["fitted"].predict(data[0]), model.predict(data[0]))


@needs_callbacks
def test_scores_can_be_monitored(data):
    from sklearn.callback import ScoringMonitor

    monitor = ScoringMonitor(scoring="accuracy")
    Machine().set_callbacks(monitor).fit(*data, sample_weight=np.ones(60))
    (row,) = monitor.get_logs().data
    assert row["task_name"] == "fit"
    assert row["accuracy"] == 0.5


# -- stopping ----------------------------------------------------------------------------------


@needs_callbacks
def test_a_callback_stops_the_rounds(data):
    seen = Recorder(stop=lambda context: context.task_id == 1)
    model = Machine(rounds=9).set_callbacks(seen).fit(*data)
    assert model.n_rounds_ == [2]
    assert len(seen.of("begin", 2)) == len(seen.of("end", 2)) == 2
    assert seen.told()[-2:] == [("end", "fit"), ("teardown", "fit")]


@needs_callbacks
def test_a_stop_is_for_one_problem(three):
    first = Recorder(stop=lambda c: c.task_name == "round" and c.parent.task_id == 0)
    assert Machine(rounds=4).set_callbacks(first).fit(*three).n_rounds_ == [1, 4, 4]


@needs_callbacks
def test_a_stop_of_the_problems_leaves_a_round_for_each(three):
    second = Recorder(stop=lambda c: c.task_name == "0 against 2")
    model = Machine(rounds=4).set_callbacks(second).fit(*three)
    assert model.n_rounds_ == [4, 4, 1]
    assert len(second.of("end", 2)) == 3


@needs_callbacks
def test_a_stop_is_repeated_to_those_who_go_on(data):
    seen = Recorder(stop=lambda context: context.task_name == "round")
    report = RoundReporter(Machine().set_callbacks(seen), *data)
    with report.problem():
        assert [report(record(round=number)) for number in (1, 2, 3)] == [True] * 3
    assert len(seen.of("end", 2)) == 1


# -- failures ----------------------------------------------------------------------------------


@needs_callbacks
def test_a_failed_fit_is_torn_down(data):
    seen = Recorder()
    model = Machine(fail=True).set_callbacks(seen)
    with pytest.raises(ArithmeticError, match="no solution"):
        model.fit(*data)
    assert seen.told()[-1] == ("teardown", "fit")
    assert ("end", "fit") not in seen.told()
    assert vars(model).keys() == {"rounds", "fail", "seconds", "_skl_callbacks"}
    model.set_params(fail=False).fit(*data)
    assert seen.told().count(("end", "fit")) == 1


def test_warnings_point_at_the_caller_of_fit(data):
    with pytest.warns(UserWarning, match="trained") as caught:
        Machine().fit(*data)
    assert [warning.filename for warning in caught] == [__file__]


# -- scikit-learn's own callbacks and meta-estimators ------------------------------------------


def shown(capsys) -> str:
    """What was drawn, in one piece."""
    return " ".join(capsys.readouterr().out.split())


@needs_callbacks
def test_progress_bar(data, capsys):
    from sklearn.callback import ProgressBar

    Machine().set_callbacks(ProgressBar()).fit(*data)
    out = shown(capsys)
    assert "Machine - fit" in out
    assert "100%" in out


@needs_callbacks
def test_progress_bar_of_several_problems(three, capsys):
    from sklearn.callback import ProgressBar

    Machine().set_callbacks(ProgressBar()).fit(*three)
    out = shown(capsys)
    for task in ("Machine - fit", "Machine - 0 against 1 #0", "Machine - 1 against 2 #2"):
        assert task in out
    assert out.count("100%") >= 4


@needs_callbacks
@pytest.mark.parametrize("labels", ["data", "three"])
def test_progress_bar_in_a_grid_search(labels, request, capsys, monkeypatch):
    from sklearn.callback import ProgressBar

    monkeypatch.setenv("COLUMNS", "200")
    search = GridSearchCV(Machine(), {"rounds": [1, 2]}, cv=2).set_callbacks(ProgressBar())
    search.fit(*request.getfixturevalue(labels))
    out = shown(capsys)
    for task in ("GridSearchCV - fit", "candidate-split-evaluation | Machine - fit #3",
                 "refit-with-best-params | Machine - fit"):  # fmt: skip
        assert task in out
    assert "%" in out
    assert " 0%" not in out[out.rindex("GridSearchCV - fit") :]
    assert not hasattr(search.best_estimator_, "_skl_callbacks")


@needs_callbacks
def test_a_search_propagates_to_each_fit(data):
    seen = Propagated()
    GridSearchCV(Machine(), {"rounds": [1, 2]}, cv=3).set_callbacks(seen).fit(*data)
    told = seen.told()
    names = [name for hook, name in told if hook == "end" and name.endswith("/fit/round")]
    assert len(names) == 3 * (2 + 3) + 2  # one after the last round of each fit; the refit has one
    assert told.count(("setup", "fit")) == told.count(("teardown", "fit")) == 1


@needs_callbacks
def test_a_search_may_stop_the_fits(data):
    seen = Propagated(stop=lambda context: context.task_name == "round")
    search = GridSearchCV(Machine(rounds=9), {"seconds": [0.0]}, cv=2).set_callbacks(seen)
    assert search.fit(*data).best_estimator_.n_rounds_ == [1]


@needs_callbacks
def test_callbacks_of_a_step_in_a_pipeline(data):
    """Those are not propagated: the estimator has them to itself, in the tree of the pipeline."""
    own, whole = Recorder(), Propagated()
    model = make_pipeline(StandardScaler(), Machine(rounds=2).set_callbacks(own))
    model.set_callbacks(whole).fit(*data)
    assert [name for hook, name in own.told() if hook == "setup"] == ["fit/fit"]
    assert own.told().count(("end", "fit/fit/round")) == 3
    assert whole.told().count(("end", "fit/fit/round")) == 3


@needs_callbacks
def test_a_search_in_other_processes(data, capsys, monkeypatch):
    from sklearn.callback import ProgressBar

    monkeypatch.setenv("COLUMNS", "200")
    search = GridSearchCV(Machine(), {"rounds": [1, 2]}, cv=2, n_jobs=2)
    search.set_callbacks(ProgressBar()).fit(*data)
    out = shown(capsys)
    assert "candidate-split-evaluation | Machine - fit #3" in out
    assert " 0%" not in out[out.rindex("GridSearchCV - fit") :]


# -- copies ------------------------------------------------------------------------------------


@needs_callbacks
def test_clones_share_the_callbacks(data):
    seen = Recorder()
    model = Machine(rounds=2).set_callbacks(seen).fit(*data)
    copied = clone(model)
    assert copied._skl_callbacks == [seen]
    copied.fit(*data)
    assert seen.told().count(("teardown", "fit")) == 2
    assert not hasattr(copied.set_callbacks(), "_skl_callbacks")


@needs_callbacks
def test_pickles_keep_the_callbacks(data, capsys):
    from sklearn.callback import ProgressBar

    model = Machine().set_callbacks(ProgressBar()).fit(*data)
    shown(capsys)
    copied = pickle.loads(pickle.dumps(model))
    assert np.array_equal(copied.predict(data[0]), model.predict(data[0]))
    copied.fit(*data)
    assert "Machine - fit" in shown(capsys)


# -- no callbacks ------------------------------------------------------------------------------


def test_without_callbacks_nothing_is_called(data, three, monkeypatch):
    def refuse(self, **options):
        raise AssertionError

    monkeypatch.setattr(Machine, "_init_callback_context", refuse, raising=False)
    for X, y in (data, three):
        model = Machine(rounds=2).fit(X, y)
        assert set(model.n_rounds_) == {2}
        assert not {"_callback_fit_ctx", "_skl_callbacks"} & vars(model).keys()


@pytest.fixture
def without(monkeypatch):
    """The module as it is with a scikit-learn that has no callbacks."""
    monkeypatch.setitem(sys.modules, "sklearn.callback", None)
    spec = importlib.util.spec_from_file_location("without_callbacks", callbacks.__file__)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_older_scikit_learn(without, data):
    def fit(self, X, y):
        report = without.RoundReporter(self, X, y)
        with report.problem():
            stopped = report(record())
        report.finish()
        return stopped

    class Old(without.CallbackSupport, BaseEstimator):
        pass

    assert without.with_callbacks(fit) is fit
    assert without.CallbackSupport.__mro__[1:] == (object,)
    assert not hasattr(Old(), "set_callbacks")
    assert fit(Old(), *data) is False
    model = Old()
    model._skl_callbacks = [Recorder()]  # pickled by a newer release
    assert fit(model, *data) is False
