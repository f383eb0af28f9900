"""`astream_events`: a run and everything inside it, as one stream of events.

An `EventStream` is a callback handler that turns what it hears into dicts of the field's form: the
event's name (`on_chat_model_stream`), the name and id of the run, its tags and metadata, the ids of
the runs around it (outermost first), and the data.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, cast
from uuid import UUID

from typing_extensions import TypedDict

from plait.callbacks.handlers import TokenListener
from plait.runnables.config import with_handler

if TYPE_CHECKING:
    from plait.runnables.base import Runnable

EVENTS_AHEAD = 128
"""While so many events wait for the consumer, the run yields no further chunk."""


class StreamEvent(TypedDict):
    """One event of `astream_events`."""

    event: str
    """Such as `on_chain_start`, `on_tool_end`, `on_custom_event`."""
    name: str
    """The name of the run; of a custom event, its own."""
    run_id: str
    parent_ids: list[str]
    """The runs around it, outermost first."""
    tags: list[str]
    metadata: dict[str, Any]
    data: Any
    """`input` when a run starts, `chunk` when it streams, `output` when it ends."""


@dataclass(frozen=True, slots=True)
class Filter:
    """Which runs' events are wanted: all, or those that any `include` names; no excluded ones."""

    include_names: Collection[str] | None = None
    include_types: Collection[str] | None = None
    include_tags: Collection[str] | None = None
    exclude_names: Collection[str] | None = None
    exclude_types: Collection[str] | None = None
    exclude_tags: Collection[str] | None = None

    def wants(self, name: str, kind: str, tags: Collection[str]) -> bool:
        """Whether the events of such a run are wanted."""
        included = (self.include_names, self.include_types, self.include_tags)
        if any(each is not None for each in included) and not (
            name in (self.include_names or ())
            or kind in (self.include_types or ())
            or any(tag in (self.include_tags or ()) for tag in tags)
        ):
            return False
        return not (
            name in (self.exclude_names or ())
            or kind in (self.exclude_types or ())
            or any(tag in (self.exclude_tags or ()) for tag in tags)
        )


@dataclass(slots=True)
class HeardRun:
    """What the events of one run share."""

    name: str
    kind: str
    run_id: str
    parents: list[str]
    tags: list[str]
    metadata: dict[str, Any]
    wanted: bool
    input: dict[str, Any] = field(default_factory=dict[str, Any])
    """Told again when the run ends, where it is no outermost one."""
    is_inner: bool = False
    tells_chunks: bool = False
    has_ended: bool = False


class EventStream(TokenListener):
    """Hears a run and keeps its events until they are read. Handlers may call from any thread.

    Args:
        given: the input of the outermost run, as its caller gave it.
        wanted: which events are kept.
    """

    run_inline = True
    raise_error = True

    def __init__(self, given: Any, wanted: Filter) -> None:
        self._given = given
        self._wanted = wanted
        self._runs: dict[UUID, HeardRun] = {}
        self._events: deque[StreamEvent] = deque()
        self._loop = asyncio.get_running_loop()
        self._news = asyncio.Event()
        self._room = asyncio.Event()
        self._over = False

    # --- reading ---------------------------------------------------------------------------------

    async def read(self) -> AsyncIterator[StreamEvent]:
        """The events as they come, until the run is over."""
        while True:
            while self._events:
                event = self._events.popleft()
                if len(self._events) < EVENTS_AHEAD:
                    self._room.set()
                yield event
            if self._over:
                return
            self._news.clear()
            if not self._events:
                await self._news.wait()

    async def room(self) -> None:
        """Wait until fewer than `EVENTS_AHEAD` events wait."""
        while len(self._events) >= EVENTS_AHEAD:
            self._room.clear()
            await self._room.wait()

    def yielded(self, chunk: Any) -> None:
        """The outermost run handed out a chunk: told here, if it tells of none itself.

        That is so for a program's own runnable whose `astream` tells of its start and end alone.
        """
        run = next(iter(self._runs.values()), None)
        if run is not None and run.kind == "chain" and not (run.tells_chunks or run.has_ended):
            self._tell(run, "stream", {"chunk": chunk})

    def end(self) -> None:
        """Nothing more comes."""
        self._over = True
        self._news.set()

    # --- what all events share -------------------------------------------------------------------

    def _start(
        self,
        kind: str,
        name: str,
        data: dict[str, Any],
        run_id: UUID,
        parent_run_id: UUID | None,
        tags: list[str] | None,
        metadata: Mapping[str, Any] | None,
    ) -> None:
        around = None if parent_run_id is None else self._runs.get(parent_run_id)
        parents = [] if around is None else [*around.parents, around.run_id]
        outermost = not self._runs
        tags, wanted = list(tags or ()), self._wanted.wants(name, kind, tags or ())
        run = HeardRun(name, kind, str(run_id), parents, tags, dict(metadata or {}), wanted)
        self._runs[run_id] = run
        run.input, run.is_inner = data, not outermost
        self._tell(run, "start", {"input": self._given} if outermost else data)

    def _end(self, run_id: UUID, suffix: str, *, input_too: bool = False, **data: Any) -> None:
        run = self._runs.get(run_id)
        if run is not None:
            # Who started the outermost run knows what it was given.
            told = run.input if run.is_inner or input_too else {}
            self._tell(run, suffix, {**data, **told})
            run.has_ended = True
            if run.is_inner:  # the outermost one stays: it is how the others are known as inner
                del self._runs[run_id]

    def _chunk(self, run_id: UUID, chunk: Any) -> None:
        run = self._runs.get(run_id)
        if run is not None:
            run.tells_chunks = True
            self._tell(run, "stream", {"chunk": chunk})

    def _tell(self, run: HeardRun, suffix: str, data: Any) -> None:
        if run.wanted:
            self._add(
                StreamEvent(
                    event=f"on_{run.kind}_{suffix}",
                    name=run.name,
                    run_id=run.run_id,
                    parent_ids=run.parents,
                    tags=run.tags,
                    metadata=run.metadata,
                    data=data,
                )
            )

    def _add(self, event: StreamEvent) -> None:
        self._events.append(event)
        if len(self._events) == 1:
            with suppress(RuntimeError):  # the event loop is closed: nobody reads any more
                self._loop.call_soon_threadsafe(self._news.set)

    # --- chains ----------------------------------------------------------------------------------

    def on_chain_start(
        self,
        serialized: dict[str, Any] | None,
        inputs: Any,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """A chain starts."""
        name = kwargs.get("name") or _name_of(serialized)
        # What takes its input in chunks knows it when it ends.
        data = {} if inputs == {"input": ""} else {"input": inputs}
        kind = kwargs.get("run_type") or "chain"  # "prompt" or "parser"
        self._start(kind, name, data, run_id, parent_run_id, tags, metadata)

    def on_chain_stream(self, chunk: Any, *, run_id: UUID, **kwargs: Any) -> None:
        """A chain yields a chunk."""
        self._chunk(run_id, chunk)

    def on_chain_end(
        self, outputs: Any, *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any
    ) -> None:
        """A chain ends."""
        run = self._runs.get(run_id)
        if run is not None and run.is_inner and "inputs" in kwargs:
            run.input = {"input": kwargs["inputs"]}
        self._end(run_id, "end", output=outputs)

    # --- models ----------------------------------------------------------------------------------

    def on_chat_model_start(
        self,
        serialized: dict[str, Any],
        messages: list[list[Any]],
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """A chat model is asked."""
        name = kwargs.get("name") or _name_of(serialized)
        data = {"input": {"messages": messages}}
        self._start("chat_model", name, data, run_id, parent_run_id, tags, metadata)

    def on_llm_start(
        self,
        serialized: dict[str, Any],
        prompts: list[str],
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """A text model is asked."""
        name = kwargs.get("name") or _name_of(serialized)
        data = {"input": {"prompts": prompts}}
        self._start("llm", name, data, run_id, parent_run_id, tags, metadata)

    def on_llm_new_token(
        self,
        token: str | list[str | dict[str, Any]],
        *,
        chunk: Any = None,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        tags: list[str] | None = None,
        **kwargs: Any,
    ) -> None:
        """A model says a token."""
        said = chunk if chunk is not None else token
        self._chunk(run_id, getattr(said, "message", said))

    def on_llm_end(
        self, response: Any, *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any
    ) -> None:
        """A model has answered."""
        generations = response.generations
        first = generations[0][0] if generations and generations[0] else None
        self._end(run_id, "end", output=getattr(first, "message", None) or _texts(response))

    # --- tools, retrievers, the program's own ----------------------------------------------------

    def on_tool_start(
        self,
        serialized: dict[str, Any],
        input_str: str,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        inputs: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """A tool is called."""
        name = kwargs.get("name") or _name_of(serialized)
        data = {"input": inputs if inputs is not None else input_str}
        self._start("tool", name, data, run_id, parent_run_id, tags, metadata)

    def on_tool_end(
        self, output: Any, *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any
    ) -> None:
        """A tool has returned."""
        self._end(run_id, "end", output=output)

    def on_tool_error(
        self,
        error: BaseException,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        **kwargs: Any,
    ) -> None:
        """A tool has failed."""
        call_id = kwargs.get("tool_call_id")
        self._end(run_id, "error", input_too=True, error=error, tool_call_id=call_id)

    def on_retriever_start(
        self,
        serialized: dict[str, Any],
        query: str,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """A retriever is asked."""
        name = kwargs.get("name") or _name_of(serialized)
        data = {"input": {"query": query}}
        self._start("retriever", name, data, run_id, parent_run_id, tags, metadata)

    def on_retriever_end(
        self, documents: Any, *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any
    ) -> None:
        """A retriever has found something."""
        self._end(run_id, "end", output=documents)

    def on_custom_event(
        self,
        name: str,
        data: Any,
        *,
        run_id: UUID,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """The program sent an event of its own, inside run `run_id`."""
        around = self._runs.get(run_id)
        if self._wanted.wants(name, "custom_event", tags or ()):
            self._add(
                StreamEvent(
                    event="on_custom_event",
                    name=name,
                    run_id=str(run_id),
                    parent_ids=[] if around is None else around.parents,
                    tags=list(tags or ()),
                    metadata=dict(metadata or {}),
                    data=data,
                )
            )


def _texts(response: Any) -> dict[str, Any]:
    """What a model of texts answered, as plain data."""
    rows = [
        [
            {"text": one.text, "generation_info": one.generation_info, "type": one.type}
            for one in row
        ]
        for row in response.generations
    ]
    return {"generations": rows, "llm_output": response.llm_output}


def _name_of(serialized: Mapping[str, Any] | None) -> str:
    """The name of what runs, from its description: given, or the last part of its id."""
    if not serialized:
        return "Unnamed"
    return str(serialized.get("name") or (serialized.get("id") or ["Unnamed"])[-1])


async def astream_events(
    runnable: Runnable[Any, Any],
    input: Any,
    config: Mapping[str, Any] | None,
    *,
    version: Literal["v1", "v2"],
    wanted: Filter,
    **kwargs: Any,
) -> AsyncIterator[StreamEvent]:
    """The events of one run of `runnable.astream`.

    Raises:
        NotImplementedError: an unknown version.
    """
    if version not in ("v1", "v2"):
        raise NotImplementedError(f"Unsupported version: {version!r}. Pass 'v2' (or 'v1').")
    events = EventStream(input, wanted)
    own = dict(config or {})
    own["callbacks"] = with_handler(own.get("callbacks"), events)

    async def run() -> None:
        try:
            async for chunk in runnable.astream(input, cast("Any", own), **kwargs):
                events.yielded(chunk)
                await events.room()
        finally:
            events.end()

    task = asyncio.create_task(run())
    try:
        async for event in events.read():
            if version == "v2":
                yield event
            elif event["event"] != "on_custom_event":
                yield {**event, "parent_ids": []}
        await task
    finally:
        await stop(task)


async def stop(task: asyncio.Task[None]) -> None:
    """Stop a run that nobody reads any more, if it still runs."""
    if not task.done():
        task.cancel()
        await asyncio.wait([task])
        if not task.cancelled():
            task.exception()  # the consumer has left: there is nobody to tell


__all__ = ["EventStream", "Filter", "HeardRun", "StreamEvent", "astream_events", "stop"]
