"""Ports: the way of questions to shards in this process or elsewhere.

A question is a function of a shard, the news, some arguments and a poll. All processes know it by
its name: it is a method of `Shard`, or a function of another module of this package. Questions,
news and answers can be pickled. An answer depends only on the rows of the shard, the news and the
question. The memory of a shard saves work and changes no answer by more than rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias, TypeVar

from widestreet._src.kernels.poll import Poll
from widestreet._src.shards.news import News
from widestreet._src.shards.runner import LocalRunner, Runner
from widestreet._src.shards.shard import Shard

Answer = TypeVar("Answer")
Arguments: TypeAlias = tuple[Any, ...]


class Port(Protocol):
    """Connection to the shards of a problem."""

    @property
    def sizes(self) -> Sequence[int]:
        """Number of rows of each shard."""
        ...

    def publish(self, news: News) -> None:
        """Set the news that come with the next questions."""
        ...

    def ask(
        self, question: Callable[..., Answer], each: Mapping[int, Arguments], poll: Poll
    ) -> dict[int, Answer]:
        """Return the answers of some shards.

        Parameters
        ----------
        question : function
            Takes a shard, the news, its arguments and a poll.
        each : mapping
            Arguments for each shard that is asked, by the number of the shard.
        poll : Poll
            Checks the time limit and counts the kernel values of all shards.
        """
        ...


class LocalPort:
    """Shards in this process.

    Parameters
    ----------
    shards : sequence of Shard
    runner : Runner, optional
    """

    def __init__(self, shards: Sequence[Shard], runner: Runner | None = None) -> None:
        self.shards = list(shards)
        self.runner = runner or LocalRunner()
        self._news: News | None = None

    @property
    def sizes(self) -> Sequence[int]:
        return [shard.rows for shard in self.shards]

    def publish(self, news: News) -> None:
        """Pass the news to all shards at once. Sets: the memory of the shards."""
        self._news = news
        for shard in self.shards:
            shard.hear(news)

    def ask(
        self, question: Callable[..., Answer], each: Mapping[int, Arguments], poll: Poll
    ) -> dict[int, Answer]:
        """Call the shards through the runner and return their answers."""
        if len(each) == 1:
            [(k, arguments)] = each.items()
            return {k: question(self.shards[k], self._news, *arguments, poll=poll)}
        polls = {k: Poll(poll.look) for k in each}

        def call(k: int) -> Answer:
            return question(self.shards[k], self._news, *each[k], poll=polls[k])

        try:
            return dict(zip(each, self.runner.map(call, each), strict=True))
        finally:
            poll.kernel_values += sum(own.kernel_values for own in polls.values())
