"""Ports that no process is needed for: messages are pickled, and shards forget."""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from support.stored_shards import stored_shards
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.kernels import Callable as FunctionKernel
from widestreet._src.kernels.kernels import Precomputed
from widestreet._src.kernels.poll import Poll
from widestreet._src.problems.dual import Dual, select
from widestreet._src.shards.columns import HeardRows, TakenRows
from widestreet._src.shards.news import News
from widestreet._src.shards.port import LocalPort
from widestreet._src.shards.shard import Shard
from widestreet._src.shards.shard_set import ShardSet

_functions: list[FunctionKernel] = []  # kernels that cannot be pickled, by their number


class _Pickler(pickle.Pickler):
    """Leaves kernels written in Python where they are."""

    def persistent_id(self, value: Any) -> int | None:
        if not isinstance(value, FunctionKernel):
            return None
        _functions.append(value)
        return len(_functions) - 1


class _Unpickler(pickle.Unpickler):
    def persistent_load(self, number: int) -> FunctionKernel:
        return _functions[number]


def sent(value: Any) -> Any:
    """A copy of something that travelled as bytes."""
    written = io.BytesIO()
    _Pickler(written, pickle.HIGHEST_PROTOCOL).dump(value)
    copy = _Unpickler(io.BytesIO(written.getvalue())).load()
    _functions.clear()
    return copy


class PicklingPort:
    """Shards to which everything travels as bytes.

    Parameters
    ----------
    shards : sequence of Shard
    forget : float
        How likely a shard travels, too, before a question, which costs it its memory.
    seed : int
    """

    def __init__(self, shards: Sequence[Shard], forget: float = 0.0, seed: int = 0) -> None:
        self.shards = [sent(shard) for shard in shards]
        self.forget, self.rng = forget, np.random.default_rng(seed)

    @property
    def sizes(self) -> Sequence[int]:
        return [shard.rows for shard in self.shards]

    def publish(self, news: News) -> None:
        self.news = sent(news)

    def ask(
        self, question: Callable[..., Any], each: Mapping[int, tuple[Any, ...]], poll: Poll
    ) -> dict[int, Any]:
        answers = {}
        for k, arguments in each.items():
            if self.rng.random() < self.forget:
                self.shards[k] = sent(self.shards[k])
            asked, received, news = sent((question, arguments, self.news))
            own = Poll(poll.look)
            try:
                answer = asked(self.shards[k], news, *received, poll=own)
            finally:
                poll.kernel_values += own.kernel_values
            answers[k] = sent(answer)
        return answers


def far_shards(
    gram: Gram, dual: Dual, *, parts: int, forget: float, poll: Poll | None = None, threads: int = 1
) -> ShardSet:
    """Shards behind a pickling port that have no rows but their own."""
    every = np.arange(dual.rows)
    longest = gram.left.largest_square(threads)
    shards = []
    for ids in np.array_split(every, parts):
        own = gram.left.take(gram.left_index(ids))
        variables = select(dual, ids)
        columns = HeardRows(
            gram.kernel, own, int(ids[0]), longest, ids, variables.diagonal, threads
        )
        shards.append(Shard(columns, variables, threads, int(ids[0])))
    known = TakenRows(gram.kernel, gram.left.take(every[:0]), longest, threads)
    port = PicklingPort(shards, forget)
    return ShardSet(port, known, select(dual, every[:0]), poll or Poll())


def shard_set(gram: Gram, dual: Dual, *, connect: Any = LocalPort, **options: Any) -> ShardSet:
    """Shards behind any of the ports."""
    if connect in FAR.values():
        return connect(gram, dual, **options)
    return ShardSet.of(gram, dual, connect=connect, **options)


FAR = {
    "far": partial(far_shards, forget=0.0),
    "far and forgetful": partial(far_shards, forget=0.5),
    "stored": stored_shards,
}
PORTS: dict[str, Callable[[Sequence[Shard]], Any]] = {
    "local": partial(LocalPort),  # which no `divide_fits` replaces
    "pickling": PicklingPort,
    "forgetful": partial(PicklingPort, forget=0.5),
}


def divide_fits(parts: int, forget: float) -> None:
    """Let fits from here on have several shards behind a pickling port, unless they say else."""
    of = ShardSet.of.__func__  # type: ignore[attr-defined]

    def divided(cls: type[ShardSet], gram: Gram, dual: Dual, **options: Any) -> ShardSet:
        if "connect" not in options or options["connect"] is LocalPort:
            count = max(1, min(parts, dual.rows))
            if not isinstance(gram.kernel, Precomputed):
                options.pop("connect", None)
                options["parts"] = count
                return far_shards(gram, dual, forget=forget, **options)
            options |= {"connect": partial(PicklingPort, forget=forget), "parts": count}
        found: ShardSet = of(cls, gram, dual, **options)
        return found

    ShardSet.of = classmethod(divided)  # type: ignore[method-assign, assignment]
