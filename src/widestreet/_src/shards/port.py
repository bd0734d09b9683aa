"""Where the shards are, and how questions reach them.

A question is a function of a shard, the news, some arguments and a poll, known by its name to all
processes: a method of `Shard`, or one of first_rows.py. Questions, news and answers are plain data
that can be pickled. An answer is a function of the rows of a shard, the news and the question: what
a shard remembers only saves work.
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
    """Reaches the shards, wherever they are."""

    @property
    def sizes(self) -> Sequence[int]:
        """How many rows each shard has."""
        ...

    def publish(self, news: News) -> None:
        """Let the next questions be about these news."""
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
            The arguments for each shard that is asked.
        poll : Poll
            Looks at the clock, and counts the kernel values of all shards.
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
        """Tell the shards at once, so that they miss no news. Sets: their memory."""
        self._news = news
        for shard in self.shards:
            shard.hear(news)

    def ask(
        self, question: Callable[..., Answer], each: Mapping[int, Arguments], poll: Poll
    ) -> dict[int, Answer]:
        """Call the shards, at the same time if the runner does so."""
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
