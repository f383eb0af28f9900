"""`Transforming`: runnables that work on chunks. To stream is to transform a single chunk."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

from plait.runnables.base import Input, Output, Runnable
from plait.runnables.config import RunnableConfig
from plait.runnables.stream_runs import one_chunk


class Transforming(Runnable[Input, Output]):
    """Base of runnables that define `transform` and `atransform`; `stream` follows from them."""

    def stream(
        self, input: Input, config: RunnableConfig | None = None, **kwargs: Any
    ) -> Iterator[Output]:
        """Yield the output in chunks as they come."""
        return self.transform(iter([input]), config, **kwargs)

    def astream(
        self, input: Input, config: RunnableConfig | None = None, **kwargs: Any
    ) -> AsyncIterator[Output]:
        """Yield the output in chunks as they come."""
        return self.atransform(one_chunk(input), config, **kwargs)


__all__ = ["Transforming"]
